#include "supervise/confirming.hpp"

#include <algorithm>
#include <unordered_set>

namespace peakmark {

std::vector<PlannedCase> cases_to_confirm(const Run& run, const std::vector<std::string>& names) {
  std::unordered_set<std::string> wanted(names.begin(), names.end());
  for (const Observation& observation : run.observations) {
    const bool is_timed = observation.outcome == Outcome::ok && observation.gpu_time.has_value();
    if (!is_timed || observation.gpu_time_again) wanted.erase(observation.case_name);
  }
  std::vector<PlannedCase> cases;
  std::ranges::copy_if(run.context.planned, std::back_inserter(cases),
                       [&](const PlannedCase& planned) { return wanted.contains(planned.name); });
  return cases;
}

Confirming::Confirming(RunJournal& journal, std::size_t cases)
    : journal_(journal), progress_(stderr, is_terminal(stderr), cases, 0) {}

void Confirming::finished(const PlannedCase& planned, const Observation& measured) {
  const bool is_good = measured.outcome == Outcome::ok && measured.gpu_time.has_value();
  progress_.finished(!is_good);
  if (!is_good) {
    progress_.message(planned.name + ": not confirmed: " + std::string(to_string(measured.outcome)) + ": " +
                      measured.message);
    return;
  }
  Observation observation = *journal_.find(planned.name);
  if (cache_of(observation) != cache_of(measured)) {
    progress_.message(planned.name + ": not confirmed: its times are " + cache_of(observation) +
                      ", the second ones " + cache_of(measured));
    return;
  }
  observation.gpu_time_again = measured.gpu_time;
  journal_.change(observation);
}

}  // namespace peakmark
