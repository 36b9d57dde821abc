#include "supervise/sweep_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/program.hpp"
#include "base/text.hpp"
#include "runfile/case_pairs.hpp"
#include "runfile/run_summary.hpp"
#include "statistics/time_change.hpp"
#include "subprocess/processes.hpp"
#include "supervise/asked_estimates.hpp"
#include "supervise/confirming.hpp"
#include "supervise/device_lock.hpp"
#include "supervise/measuring.hpp"
#include "supervise/run_context.hpp"
#include "supervise/run_workers.hpp"
#include "supervise/worker_program.hpp"

namespace peakmark {
namespace {

using Clock = WorkerProcess::Clock;

void note_resumption(RunJournal& journal, const std::vector<std::string>& warnings) {
  say("  resumed: " + quantity(journal.run().observations.size(), "case is", "cases are") +
      " measured already");
  change_context(journal, [&](RunContext& context) {
    for (const std::string& warning : warnings) {
      auto& known = context.warnings;
      if (std::find(known.begin(), known.end(), warning) == known.end()) known.push_back(warning);
    }
  });
}

/// A run that is resumed may have a warning of its first attempt.
void note_unconfirmed(RunJournal& journal, const std::string& reason) {
  static const std::string kNotConfirmed = "not confirmed (--confirm): ";
  const auto is_of_this = [](const std::string& warning) { return warning.starts_with(kNotConfirmed); };
  if (reason.empty() && std::ranges::none_of(journal.run().context.warnings, is_of_this)) return;
  change_context(journal, [&](RunContext& context) {
    std::erase_if(context.warnings, is_of_this);
    if (!reason.empty()) context.warnings.push_back(kNotConfirmed + reason);
  });
}

class Sweep {
 public:
  explicit Sweep(const SweepOptions& options) : options_(options) {
    if (options.deadline) deadline_ = Clock::now() + *options.deadline;
  }

  ExitCode run() {
    RunJournal journal(options_.run_file);
    if (!options_.resume) journal.set_earlier_run_aside();
    if (options_.check_first) options_.check_first();
    const std::vector<std::string> environment = current_environment();
    workers_.emplace(options_, signals_.descriptor());
    const Description& description = workers_->description();
    const MachineFacts facts = gather_machine_facts();
    Selection selection =
        select(options_.selection, description, facts.devices, [&](const std::vector<PlannedCase>& cases) {
          say_checking(cases.size());
          workers_->check(cases, signals_.descriptor());
        });
    say_device(selection.device, options_.memory_only);
    RunContext context = make_run_context(selection, description, options_.memory_only, options_.host_name);
    std::vector<PlannedCase>().swap(selection.planned);  // the run's context has them from here on
    context.asked_cache = options_.cache;
    note_findings(facts, selection.device, context);
    if (const std::string warning = workers_->warning(); !warning.empty() && !context.memory_only) {
      say("  " + warning);
      context.warnings.push_back(warning);
    }
    if (options_.rounds) {
      context.rounds = rounds_for(context.id);
      if (static_cast<std::size_t>(*options_.rounds) < kMinBlocks) {
        say(fmt::format("  with less than {} rounds `compare` gives no verdict on times", kMinBlocks));
      }
    }

    const bool resumed = options_.resume && journal.resume(context);
    if (resumed && journal.is_complete() && journal.run().context.complete) {
      say(options_.run_file.string() + " is complete: nothing to resume");
      return ExitCode::clean;
    }
    if (resumed) {
      note_resumption(journal, context.warnings);
      context = {};
    } else {
      start_journal(journal, std::move(context), options_.run_file);
    }
    if (journal.run().context.planned.empty()) return conclude_without_cases(journal);
    note_unsupported(journal, selection.device);
    adopt_orphans();
    const DeviceLock lock(
        selection.device, lock_options(options_),
        [](const std::string& holder) { say("  waiting for the device: " + holder); },
        [this] { check_time(); });
    const RecordingEnvironment recording(selection.device, environment);
    const auto supervisor_of = [&](const WorkerCall& call) {
      return supervisor_options(options_, selection.device, call, signals_, recording, deadline_);
    };
    try {
      return measure(journal, selection, supervisor_of);
    } catch (const Error&) {
      if (journal.has_measured()) {
        say("what was measured stands in " + partial_of(options_.run_file).string() +
            "; --resume goes on with it");
      }
      throw;
    }
  }

 private:
  void check_time() const {
    if (signals_.raised()) throw Interrupted("interrupted while waiting for the device");
    if (deadline_ && Clock::now() >= *deadline_) {
      throw DeadlineError("the deadline came while waiting for the device; nothing was measured");
    }
  }

  ExitCode measure(RunJournal& journal, const Selection& selection, const SupervisorOf& supervisor_of) {
    const auto begin = Clock::now();
    Stop stop = measure_cases(journal, selection, supervisor_of);
    if (stop == Stop::done) {
      stop = ask_estimators(journal, selection.suite.vocabulary, {signals_.descriptor(), deadline_});
    }
    for (const std::string& warning :
         {reference_warning(journal.run().context.reference), kernel_time_warning(journal.run())}) {
      if (warning.empty()) continue;
      say(warning);
      change_context(journal, [&](RunContext& context) { context.warnings.push_back(warning); });
    }
    return conclude(journal, stop, std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin));
  }

  Stop measure_cases(RunJournal& journal, const Selection& selection, const SupervisorOf& supervisor_of) {
    const auto& run = journal.run();
    Journaling journaling(journal, options_, selection, run.context.planned.size(), run.observations.size());
    const SupervisorOptions supervisor = supervisor_of(workers_->calls().front());
    note_reference(journal, supervisor, journaling, selection.device, false);
    Stop stop = run.context.rounds ? measure_rounds(journal, selection, supervisor_of)
                                   : measure_once(journal, selection, supervisor_of, journaling);
    journaling.write_references();  // whoever decides what to time again takes ratios to them
    if (stop == Stop::done && options_.confirm) stop = confirm(journal, selection, supervisor_of);
    if (stop == Stop::done) note_reference(journal, supervisor, journaling, selection.device, true);
    journaling.write_references();
    return stop;
  }

  /// Times again what looks suspicious.
  Stop confirm(RunJournal& journal, const Selection& selection, const SupervisorOf& supervisor_of) {
    const CasesToConfirm suspicious = options_.confirm(journal.run());
    note_unconfirmed(journal, suspicious.not_confirmed);
    if (!suspicious.not_confirmed.empty()) return Stop::done;
    std::vector<PlannedCase> cases = cases_to_confirm(journal.run(), suspicious.names);
    say(fmt::format("against the history {} of {} look{} suspicious{}", cases.size(),
                    quantity(journal.run().context.planned.size(), "case"), cases.size() == 1 ? "s" : "",
                    cases.empty() ? "" : ": timed again"));
    if (cases.empty()) return Stop::done;
    Confirming confirming(journal, cases.size());
    const auto programs = std::stable_partition(cases.begin(), cases.end(), [&](const PlannedCase& planned) {
      return !is_program_of(selection, planned);
    });
    const std::vector<PlannedCase> of_programs(programs, cases.end());
    cases.erase(programs, cases.end());
    const Stop stop = supervise_each(cases, supervisor_of, confirming, takes_blocks());
    if (stop != Stop::done || of_programs.empty()) return stop;
    return supervise(supervisor_of(programs_call().for_times_only()), of_programs, confirming);
  }

  Stop measure_once(RunJournal& journal, const Selection& selection, const SupervisorOf& supervisor_of,
                    Journaling& journaling) {
    Stop stop = supervise_each(missing(journal, selection, false), supervisor_of, journaling, false);
    if (const auto programs = missing(journal, selection, true); stop == Stop::done && !programs.empty()) {
      stop = supervise(supervisor_of(programs_call()), programs, journaling);
    }
    return stop;
  }

  /// Each worker its cases, one worker after the other.
  Stop supervise_each(const std::vector<PlannedCase>& cases, const SupervisorOf& supervisor_of,
                      SupervisorListener& listener, bool times_only) const {
    Stop stop = Stop::done;
    for (std::size_t i = 0; i < workers_->calls().size() && stop == Stop::done; ++i) {
      const WorkerCall& call = workers_->calls()[i];
      const WorkerCall worker = times_only ? call.for_times_only() : call;
      const bool is_only_one = workers_->calls().size() == 1;
      stop = supervise(supervisor_of(worker), is_only_one ? cases : workers_->cases_of(i, cases), listener);
    }
    return stop;
  }

  [[nodiscard]] bool takes_blocks() const { return workers_->description().takes_blocks; }

  Rounds rounds_for(const std::string& id) const {
    Rounds rounds;
    rounds.job = id;
    rounds.rounds = *options_.rounds;
    rounds.seed = options_.seed ? *options_.seed : std::random_device()();
    rounds.variants = options_.selection.variants;
    rounds.two_passes = rounds.variants.has_value();
    return rounds;
  }

  Stop measure_rounds(RunJournal& journal, const Selection& selection, const SupervisorOf& supervisor_of) {
    RoundsOfRun run{journal,
                    options_,
                    selection,
                    workers_->calls(),
                    [this](const PlannedCase& planned) { return workers_->index_of(planned); },
                    takes_blocks(),
                    {},
                    supervisor_of};
    const auto& planned = journal.run().context.planned;
    if (std::ranges::any_of(planned, [&](const PlannedCase& one) { return is_program_of(selection, one); })) {
      run.programs = programs_call();
    }
    const int rounds = journal.run().context.rounds->rounds;
    const Stop stop = measure_pass(run, 1, rounds);
    if (stop != Stop::done || !journal.run().context.rounds->two_passes) return stop;
    if (!journal.run().context.rounds->confirmation_pass) {
      std::vector<std::string> chosen = candidates_of_variants(journal.run());
      say(screening_pass_text(chosen.size(), journal.run().context.planned.size()));
      change_context(journal,
                     [&](RunContext& context) { context.rounds->confirmation_pass = std::move(chosen); });
    }
    return measure_pass(run, rounds + 1, 2 * rounds);
  }

  static Stop measure_pass(const RoundsOfRun& run, int first, int last) {
    for (int round = first; round <= last; ++round) {
      const std::size_t cases = left_in_round(run.journal.run(), round).size();
      if (cases == 0) continue;
      say(fmt::format("round {} of {}: {}", round, last, quantity(cases, "case")));
      if (const Stop stop = measure_round(run, round); stop != Stop::done) return stop;
    }
    return Stop::done;
  }

  /// Cases of programs, or all others, that have no observation yet.
  static std::vector<PlannedCase> missing(const RunJournal& journal, const Selection& selection,
                                          bool programs) {
    std::vector<PlannedCase> cases = journal.missing();
    std::erase_if(cases,
                  [&](const PlannedCase& planned) { return is_program_of(selection, planned) != programs; });
    return cases;
  }

  [[nodiscard]] WorkerCall programs_call() const {
    WorkerCall call{find_programs_worker(), {}};
    for (const auto& suite : options_.selection.suites) {
      call.arguments.push_back(std::filesystem::absolute(suite).string());
    }
    return call;
  }

  /// Of a shard where there are fewer cases than shards: its run file is needed to merge.
  ExitCode conclude_without_cases(RunJournal& journal) {
    journal.finish();
    say(fmt::format("no case is left for this shard: there are fewer cases than shards; {}",
                    options_.run_file.string()));
    return ExitCode::clean;
  }

  ExitCode conclude(RunJournal& journal, Stop stop, std::chrono::seconds spent) {
    if (signals_.raised()) stop = Stop::interrupted;
    if (!journal.has_measured() && (stop != Stop::done || journal.run().observations.empty())) {
      say(stop == Stop::interrupted ? "interrupted before anything was measured"
                                    : "the deadline came before anything was measured");
      return stop == Stop::interrupted ? ExitCode::interrupted : ExitCode::nothing;
    }
    journal.finish();
    say(fmt::format("{} in {}; {}", summary(journal.run()), format_duration(spent),
                    options_.run_file.string()));
    if (is_unmeasured(journal.run())) {
      say("nothing was measured: every case was skipped");
    } else if (!has_measurement(journal.run())) {
      say("nothing was measured in this shard: every case was skipped; `peakmark merge` of all shards judges "
          "the run");
    }
    if (stop != Stop::done) {
      const std::size_t unasked = journal.unasked().size();
      const bool rounds_left = journal.run().context.rounds && !rounds_are_through(journal.run());
      say(fmt::format("{}: {} not measured{}{}; --resume goes on",
                      stop == Stop::interrupted ? "interrupted" : "stopped by the deadline",
                      quantity(journal.missing().size(), "case is", "cases are"),
                      rounds_left ? ", not every round is through" : "",
                      unasked == 0 ? "" : fmt::format(", the estimators of {} not asked", unasked)));
    }
    return stop == Stop::interrupted ? ExitCode::interrupted : exit_code_of(journal.run());
  }

  const SweepOptions& options_;
  std::optional<RunWorkers> workers_;
  SignalWatch signals_;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace

ExitCode run_sweep(const SweepOptions& options) {
  return Sweep(options).run();
}

}  // namespace peakmark
