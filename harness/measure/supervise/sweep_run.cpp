#include "measure/supervise/sweep_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <utility>

#include "base/text.hpp"
#include "measure/git/git_repository.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/runfile/run_summary.hpp"
#include "measure/statistics/time_change.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/measurement.hpp"
#include "measure/supervise/run_context.hpp"
#include "measure/supervise/run_workers.hpp"

namespace peakmark {
namespace {

void note_resumption(RunJournal& journal, const std::vector<std::string>& warnings) {
  say("  resumed: " + quantity(journal.run().observations.size(), "case is", "cases are") +
      " measured already");
  journal.change([&](RunContext& context) {
    for (const std::string& warning : warnings) {
      auto& known = context.warnings;
      if (std::find(known.begin(), known.end(), warning) == known.end()) known.push_back(warning);
    }
  });
}

/// Throws UsageError if guards find nothing in any case of this selection. Prints how many cases have none.
void check_guards(const Selection& selection) {
  if (selection.device.backend == Backend::dry) {
    throw UsageError(
        "--guard finds nothing on dry, which runs no kernel: choose another device with --backend");
  }
  const auto is_program = [&](const PlannedCase& planned) { return is_program_of(selection, planned); };
  const auto programs = static_cast<std::size_t>(std::ranges::count_if(selection.planned, is_program));
  if (programs == 0) return;
  if (programs == selection.planned.size()) {
    throw UsageError(
        "--guard has no effect on programs of a suite: guards are around arrays of workers; use oclgrind or "
        "compute-sanitizer");
  }
  say(fmt::format("  {} of programs {} no guards", quantity(programs, "case"),
                  programs == 1 ? "has" : "have"));
}

/// Returns `guards: 27 arrays of 9 cases; 1 case without guards`.
std::string guards_text(const Run& run) {
  std::int64_t arrays = 0;
  std::size_t cases = 0;
  for (const Observation& one : run.observations) {
    if (!one.guarded_arrays) continue;
    arrays += *one.guarded_arrays;
    ++cases;
  }
  const std::size_t others = run.observations.size() - cases;
  return fmt::format("guards: {} of {}{}", quantity(arrays, "array"), quantity(cases, "case"),
                     others == 0 ? "" : fmt::format("; {} without guards", quantity(others, "case")));
}

class SweepRun {
 public:
  explicit SweepRun(const SweepOptions& options) : options_(options), measurement_(options) {}

  ExitCode run() {
    RunJournal journal(options_.run_file);
    const bool is_set_aside = !options_.resume && std::filesystem::exists(options_.run_file);
    if (!options_.resume) journal.set_earlier_run_aside();
    if (options_.check_first) options_.check_first();
    const int interrupt = measurement_.signals().descriptor();
    const RunWorkers workers(options_, interrupt);
    const Description& description = workers.description();
    const MachineFacts facts = gather_machine_facts();
    Selection selection = select_cases(workers, facts, is_set_aside);
    say_device(selection.device);
    if (!selection.device_class.empty()) say("  filed under the device class " + selection.device_class);
    check_estimators_found(selection.suite.vocabulary, selection.planned, {interrupt, std::nullopt});
    if (options_.guard) check_guards(selection);
    RunContext context = make_run_context(selection, description, options_.memory_only, options_.host_name);
    std::vector<PlannedCase>().swap(selection.planned);  // from here on they are in the run's context
    context.asked_cache = options_.cache;
    context.budget_bytes = options_.budget;
    context.max_allocation_bytes = options_.max_allocation;
    note_findings(facts, selection.device, context);
    if (const std::string warning = workers.warning(); !warning.empty() && !context.memory_only) {
      say("  " + warning);
      context.warnings.push_back(warning);
    }
    if (const std::string warning = commit_warning(workers); !warning.empty()) {
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

    MeasuredSide side{"", options_, journal, selection, workers.calls(), {}};
    if (options_.guard) {
      for (WorkerCall& call : side.workers) call.arguments.emplace_back("--guard");
    }
    side.worker_of = [&](const PlannedCase& planned) { return workers.index_of(planned); };
    ExitCode code = ExitCode::clean;
    measurement_.run({side}, [&](Stop stop, std::chrono::seconds spent) {
      note_drift(journal);
      code = conclude(journal, stop, spent);
    });
    return code;
  }

 private:
  /// Selects the cases. If the words of the command line that name them are wrong, the earlier run stays.
  Selection select_cases(const RunWorkers& workers, const MachineFacts& facts, bool is_set_aside) {
    const SelectionOptions& selection = options_.selection;
    try {
      return select(selection, workers.description(), facts.devices,
                    [&](const std::vector<PlannedCase>& cases) {
                      say_checking(cases.size());
                      workers.check(cases, measurement_.signals().descriptor());
                    });
    } catch (const UsageError&) {
      const bool names_cases =
          !selection.named_variants.empty() || !selection.axes.empty() || selection.variants;
      if (names_cases && is_set_aside) take_back_run_set_aside(options_.run_file);
      throw;
    }
  }

  /// Several workers are builds of several commits, for which no warning is possible.
  [[nodiscard]] std::string commit_warning(const RunWorkers& workers) const {
    if (workers.calls().size() > 1) return {};
    const std::filesystem::path& program = workers.calls().front().program;
    std::vector<std::filesystem::path> folders{program.parent_path()};
    for (const std::filesystem::path& suite : options_.selection.suites)
      folders.push_back(std::filesystem::absolute(suite).parent_path());
    return other_commit_warning(program.filename().string(), workers.description().commit, folders);
  }

  Rounds rounds_for(const std::string& id) const {
    Rounds rounds;
    rounds.job = id;
    rounds.rounds = *options_.rounds;
    rounds.seed = options_.seed ? *options_.seed : std::random_device()();
    rounds.variants = options_.selection.variants;
    rounds.two_passes = rounds.variants.has_value();
    return rounds;
  }

  /// Adds warnings about times that disagree with the reference case or with the device's own records.
  static void note_drift(RunJournal& journal) {
    for (const std::string& warning :
         {reference_warning(journal.run().context.reference), kernel_time_warning(journal.run())}) {
      if (warning.empty()) continue;
      say(warning);
      journal.change([&](RunContext& context) { context.warnings.push_back(warning); });
    }
  }

  /// Writes the run file of a shard that has no cases, because there are fewer cases than shards: `merge`
  /// needs it.
  ExitCode conclude_without_cases(RunJournal& journal) {
    journal.finish();
    say(fmt::format("no case is left for this shard: there are fewer cases than shards; {}",
                    options_.run_file.string()));
    return ExitCode::clean;
  }

  ExitCode conclude(RunJournal& journal, Stop stop, std::chrono::seconds spent) {
    if (!journal.has_measured() && (stop != Stop::done || journal.run().observations.empty())) {
      say(stop == Stop::interrupted ? "interrupted before anything was measured"
                                    : "the deadline came before anything was measured");
      return stop == Stop::interrupted ? ExitCode::interrupted : ExitCode::nothing;
    }
    journal.finish();
    say(fmt::format("{} in {}; {}", summary(journal.run()), clock_text(spent), options_.run_file.string()));
    if (options_.guard) say(guards_text(journal.run()));
    if (is_unmeasured(journal.run())) {
      say("nothing was measured: every case was skipped");
    } else if (!has_measurement(journal.run())) {
      say("nothing was measured in this shard: every case was skipped; `peakmark merge` of all shards judges "
          "the run");
    }
    if (stop != Stop::done) {
      const std::size_t unasked = journal.unasked().size();
      const bool rounds_left = journal.run().context.rounds && !has_all_rounds(journal.run());
      say(fmt::format("{}: {} not measured{}{}; --resume continues",
                      stop == Stop::interrupted ? "interrupted" : "stopped by the deadline",
                      quantity(journal.missing().size(), "case is", "cases are"),
                      rounds_left ? ", not every round has ended" : "",
                      unasked == 0 ? "" : fmt::format(", estimators of {} not asked", unasked)));
    }
    return stop == Stop::interrupted ? ExitCode::interrupted : exit_code_of(journal.run());
  }

  const SweepOptions& options_;
  Measurement measurement_;
};

}  // namespace

ExitCode run_sweep(const SweepOptions& options) {
  return SweepRun(options).run();
}

}  // namespace peakmark
