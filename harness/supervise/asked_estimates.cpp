#include "supervise/asked_estimates.hpp"

#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"
#include "subprocess/processes.hpp"
#include "supervise/progress.hpp"

namespace peakmark {

Stop ask_estimators(RunJournal& journal, const Vocabulary& vocabulary, const AskLimits& limits) {
  const std::vector<Observation> unasked = journal.unasked();
  if (unasked.empty()) return Stop::done;
  print_message(stderr, "measured; the suite's estimators are asked about {}\n",
                quantity(unasked.size(), "case"));
  Progress progress(stderr, is_terminal(stderr), unasked.size(), 0);
  for (Observation observation : unasked) {
    progress.started(observation.case_name);
    std::optional<Stop> stop;
    try {
      ask_external_estimates(vocabulary, observation, limits);
    } catch (const Interrupted&) {
      stop = Stop::interrupted;
    } catch (const DeadlineError&) {
      stop = Stop::deadline;
    }
    end_orphans();
    journal.change(observation);
    if (stop) return *stop;
    progress.finished(false);
  }
  return Stop::done;
}

}  // namespace peakmark
