#include "measure/supervise/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "measure/device/device.hpp"
#include "measure/runfile/case_pairs.hpp"
#include "measure/supervise/case_listeners.hpp"
#include "measure/supervise/device_lock.hpp"
#include "measure/supervise/worker_program.hpp"
#include "record/recorders/recorder_libraries.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

std::filesystem::path recorder_for(const DeviceInfo& device, const RecorderLibraries& libraries) {
  const auto& library = device.backend == Backend::cuda ? libraries.cuda : libraries.opencl;
  if (library) return *library;
  std::string message =
      "the recorder for " + std::string(to_string(device.backend)) + " is not installed; looked in";
  for (const auto& folder : libraries.folders) message += " " + folder.string();
  throw RecorderError(message + " (PEAKMARK_LIBRARY_DIR names another folder)");
}

}  // namespace

// The environment in which a worker's allocations on a device are recorded. Its profiles, which only the
// worker reads, are in a temporary folder. The destructor removes the folder.
class RecordingEnvironment {
 public:
  // Throws RecorderError if there is no recorder for this device. `dry` has its own allocation log.
  // `stacks`: the recorder keeps the call stack of every allocation.
  RecordingEnvironment(const DeviceInfo& device, std::vector<std::string> environment, bool stacks = false,
                       const MemoryLimits& limits = {});

  // Returns the variables, each NAME=value.
  [[nodiscard]] const std::vector<std::string>& variables() const { return variables_; }

 private:
  std::vector<std::string> variables_;
  std::optional<ScratchFolder> folder_;
};

RecordingEnvironment::RecordingEnvironment(const DeviceInfo& device, std::vector<std::string> environment,
                                           bool stacks, const MemoryLimits& limits)
    : variables_(std::move(environment)) {
  set_limits(variables_, limits);
  // Its URL may contain a password, and no worker needs it.
  std::erase_if(variables_, [](const std::string& entry) { return entry.starts_with("PEAKMARK_HISTORY="); });
  if (device.backend == Backend::dry) return;
  const RecorderLibraries libraries = find_recorder_libraries();
  const std::filesystem::path recorder = recorder_for(device, libraries);
  folder_.emplace();
  add_recorders(variables_, libraries, folder_->path() / "worker.profile", false, stacks);
  set_variable(variables_, "PEAKMARK_RECORDER_LIBRARY", recorder.string());
  // PoCL caches compiled kernels in the user's cache folder. Without this folder it would compile them for
  // every case.
  if (!find_variable(variables_, "POCL_CACHE_DIR") && !find_variable(variables_, "XDG_CACHE_HOME") &&
      !find_variable(variables_, "HOME")) {
    variables_.push_back("POCL_CACHE_DIR=" + (folder_->path() / "pocl-cache").string());
  }
}

namespace {

using Clock = WorkerProcess::Clock;
using Sides = std::vector<MeasuredSide>;

/// Cases that one worker measures.
struct WorkerCases {
  std::vector<PlannedCase> fresh;  ///< to verify, record and time
  std::vector<PlannedCase> known;  ///< only to time
};

struct RoundCases {
  std::vector<WorkerCases> workers;
  WorkerCases programs;
  std::size_t total = 0;
};

RoundCases cases_of_round(const MeasuredSide& side, int round) {
  const Run& run = side.journal.run();
  std::unordered_set<std::string_view> known;
  for (const Observation& one : run.observations) known.insert(one.case_name);
  RoundCases cases;
  cases.workers.resize(side.workers.size());
  for (PlannedCase& planned : in_order_of_round(left_in_round(run, round), run.context.rounds->seed, round)) {
    ++cases.total;
    WorkerCases& worker =
        is_program_of(side.selection, planned) ? cases.programs : cases.workers.at(side.worker_of(planned));
    auto& list = known.contains(planned.name) ? worker.known : worker.fresh;
    list.push_back(std::move(planned));
  }
  return cases;
}

/// Returns the call that measures the cases of the suite's programs. Throws EnvironmentError if that worker
/// is not installed.
WorkerCall programs_call(const MeasuredSide& side) {
  WorkerCall call{find_programs_worker(), {}};
  for (const auto& suite : side.options.selection.suites) {
    call.arguments.push_back(std::filesystem::absolute(suite).string());
  }
  return call;
}

/// Returns the cases without an observation: those of programs, or all others.
std::vector<const PlannedCase*> missing_cases(const MeasuredSide& side, bool of_programs) {
  std::vector<const PlannedCase*> cases = side.journal.missing();
  std::erase_if(cases, [&](const PlannedCase* planned) {
    return is_program_of(side.selection, *planned) != of_programs;
  });
  return cases;
}

/// Journals cases that name a backend other than the device's: they cannot be measured in this run.
void note_unsupported(RunJournal& journal, const DeviceInfo& device) {
  for (const PlannedCase* const planned : journal.missing()) {
    if (!is_of_another_backend(*planned, device)) continue;
    Observation observation;
    observation.case_name = planned->name;
    observation.axes = planned->sweep_case.parameters;
    observation.variant = planned->sweep_case.variant;
    observation.backend = planned->sweep_case.backend;
    observation.outcome = Outcome::unsupported;
    observation.message = fmt::format("this run measures on {} ({}); --backend {} measures this case",
                                      to_string(device.backend), device.name, planned->sweep_case.backend);
    journal.note(as_filed(std::move(observation), *planned, journal.run().context, device));
  }
}

/// A resumed run may have such a warning from its first attempt.
void note_unconfirmed(RunJournal& journal, const std::string& reason) {
  static const std::string kNotConfirmed = "not confirmed (--confirm): ";
  const auto is_of_this = [](const std::string& warning) { return warning.starts_with(kNotConfirmed); };
  if (reason.empty() && std::ranges::none_of(journal.run().context.warnings, is_of_this)) return;
  journal.change([&](RunContext& context) {
    std::erase_if(context.warnings, is_of_this);
    if (!reason.empty()) context.warnings.push_back(kNotConfirmed + reason);
  });
}

/// Returns `6 cases`; for several sides `6 cases of the base, 6 of the new`.
std::string counts_text(const Sides& sides, const std::vector<std::size_t>& counts) {
  if (sides.size() == 1) return quantity(counts.front(), "case");
  std::string text = fmt::format("{} of the {}", quantity(counts.front(), "case"), sides.front().name);
  for (std::size_t i = 1; i < sides.size(); ++i)
    text += fmt::format(", {} of the {}", counts[i], sides[i].name);
  return text;
}

/// Returns the names of the cases of each side that the confirmation pass measures: for two sides the pairs
/// that differ, for one side the pairs of its two variants.
std::vector<std::vector<std::string>> choose_candidates(const Sides& sides) {
  if (sides.size() == 1) return {candidates_of_variants(sides.front().journal.run())};
  const Run& base = sides[0].journal.run();
  const Run& next = sides[1].journal.run();
  std::vector<std::vector<std::string>> names(2);
  for (const auto& [before, after] : candidates(observations_of(base), observations_of(next),
                                                *next.context.rounds, PairBy::variant_and_axes)) {
    names[0].push_back(before);
    names[1].push_back(after);
  }
  return names;
}

DeviceLockOptions lock_options(const SweepOptions& options) {
  DeviceLockOptions lock;
  for (const std::string& word : case_words(options.selection))
    lock.suite += (lock.suite.empty() ? "" : ", ") + word;
  lock.memory_only = options.memory_only;
  lock.no_wait = options.no_wait;
  return lock;
}

void say_what_is_left(const Sides& sides) {
  std::string partial;
  for (const MeasuredSide& side : sides) {
    if (!side.journal.has_measured()) continue;
    partial += (partial.empty() ? "" : " and ") + partial_of(side.options.run_file).string();
  }
  if (!partial.empty()) say("the results so far are in " + partial + "; --resume continues it");
}

}  // namespace

bool is_program_of(const Selection& selection, const PlannedCase& planned) {
  return selection.suite.vocabulary.program(planned.sweep_case.variant) != nullptr;
}

Measurement::Measurement(const SweepOptions& options, const SignalWatch* signals)
    : options_(options),
      own_signals_(signals == nullptr ? std::make_unique<const SignalWatch>() : nullptr),
      signals_(signals == nullptr ? *own_signals_ : *signals),
      environment_(current_environment()) {
  if (options.refused_allocation > 0)
    set_variable(environment_, "PEAKMARK_REFUSE", std::to_string(options.refused_allocation));
  if (options.refuses_once) set_variable(environment_, "PEAKMARK_REFUSE_ONCE", "1");
  if (options.refuses_at_use) set_variable(environment_, "PEAKMARK_REFUSE_AT_USE", "1");
  if (options.deadline) deadline_ = Clock::now() + *options.deadline;
}

void Measurement::run(const Sides& sides, const Conclude& conclude) {
  const DeviceInfo& device = sides.front().selection.device;
  for (const MeasuredSide& side : sides) note_unsupported(side.journal, device);
  adopt_orphans();
  const DeviceLock lock(
      device, lock_options(options_),
      [](const std::string& holder) { say("  waiting for the device: " + holder); },
      [this] { check_time(); });
  const RecordingEnvironment recording(device, environment_, options_.sequences || options_.repeat_call != 0,
                                       {options_.budget, options_.max_allocation});
  recording_ = &recording;
  const auto begin = Clock::now();
  try {
    Stop stop = measure(sides);
    for (const MeasuredSide& side : sides) {
      if (stop != Stop::done || !side.options.asks_estimators) break;
      stop =
          ask_estimators(side.journal, side.selection.suite.vocabulary, {signals_.descriptor(), deadline_});
    }
    if (signals_.raised()) stop = Stop::interrupted;
    conclude(stop, std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - begin));
  } catch (const Error&) {
    say_what_is_left(sides);
    throw;
  }
}

void Measurement::check_time() const {
  if (signals_.raised()) throw Interrupted("interrupted while waiting for the device");
  if (deadline_ && Clock::now() >= *deadline_) {
    throw DeadlineError("the deadline came while waiting for the device; nothing was measured");
  }
}

Stop Measurement::measure(const Sides& sides) {
  for (const MeasuredSide& side : sides) note_reference(side, false);
  const bool has_rounds = sides.front().journal.run().context.rounds.has_value();
  Stop stop = has_rounds ? measure_rounds(sides) : measure_once(sides.front());
  for (const MeasuredSide& side : sides) {
    if (stop == Stop::done && side.options.confirm) stop = confirm(side);
  }
  for (const MeasuredSide& side : sides) {
    if (stop == Stop::done) note_reference(side, true);
  }
  return stop;
}

Stop Measurement::measure_once(const MeasuredSide& side) {
  const Run& run = side.journal.run();
  JournalListener listener(side.journal, side.options, side.selection, run.context.planned.size(),
                           run.observations.size());
  Stop stop = supervise_each(side, missing_cases(side, false), listener, false);
  if (const auto programs = missing_cases(side, true); stop == Stop::done && !programs.empty()) {
    stop = supervise(supervisor_options(side, programs_call(side)), programs, listener);
  }
  listener.write_references();  // before the confirmation pass, which compares ratios to them
  return stop;
}

/// Makes each worker measure its cases, one worker after the other.
Stop Measurement::supervise_each(const MeasuredSide& side, const std::vector<const PlannedCase*>& cases,
                                 SupervisorListener& listener, bool times_only) {
  std::vector<std::vector<const PlannedCase*>> cases_of_worker(side.workers.size());
  for (const PlannedCase* const planned : cases)
    cases_of_worker.at(side.worker_of(*planned)).push_back(planned);
  Stop stop = Stop::done;
  for (std::size_t i = 0; i < side.workers.size() && stop == Stop::done; ++i) {
    const WorkerCall& call = side.workers[i];
    stop = supervise(supervisor_options(side, times_only ? call.for_times_only() : call), cases_of_worker[i],
                     listener);
  }
  return stop;
}

Stop Measurement::measure_rounds(const Sides& sides) {
  const Rounds rounds = sides.front().journal.run().context.rounds.value();
  const Stop stop = measure_pass(sides, 1, rounds.rounds);
  if (stop != Stop::done || !rounds.two_passes) return stop;
  const auto is_chosen = [](const MeasuredSide& side) {
    return side.journal.run().context.rounds->confirmation_pass.has_value();
  };
  if (!std::ranges::all_of(sides, is_chosen)) {
    const std::vector<std::vector<std::string>> names = choose_candidates(sides);
    say(fmt::format("screening pass: {} of {} {} measured again", names.back().size(),
                    quantity(sides.back().journal.run().context.planned.size(), "case"),
                    names.back().size() == 1 ? "is" : "are"));
    for (std::size_t i = 0; i < sides.size(); ++i) {
      sides[i].journal.change([&](RunContext& context) { context.rounds->confirmation_pass = names[i]; });
    }
  }
  return measure_pass(sides, rounds.rounds + 1, 2 * rounds.rounds);
}

Stop Measurement::measure_pass(const Sides& sides, int first, int last) {
  for (int round = first; round <= last; ++round) {
    std::vector<std::size_t> counts;
    for (const MeasuredSide& side : sides) counts.push_back(left_in_round(side.journal.run(), round).size());
    if (std::ranges::all_of(counts, [](std::size_t count) { return count == 0; })) continue;
    say(fmt::format("round {} of {}: {}", round, last, counts_text(sides, counts)));
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const MeasuredSide& side = sides[round % 2 == 1 ? i : sides.size() - 1 - i];
      if (const Stop stop = measure_round(side, round); stop != Stop::done) return stop;
    }
  }
  return Stop::done;
}

Stop Measurement::measure_round(const MeasuredSide& side, int round) {
  const RoundCases cases = cases_of_round(side, round);
  if (cases.total == 0) return Stop::done;
  JournalListener listener(side.journal, side.options, side.selection, cases.total, 0, round);
  const bool has_programs = !cases.programs.fresh.empty() || !cases.programs.known.empty();
  const WorkerCall programs = has_programs ? programs_call(side) : WorkerCall{};
  Stop stop = Stop::done;
  const auto measure = [&](const WorkerCall& call, const std::vector<PlannedCase>& some) {
    if (stop == Stop::done && !some.empty()) stop = supervise(supervisor_options(side, call), some, listener);
  };
  for (std::size_t i = 0; i < side.workers.size(); ++i) {
    const std::size_t turn = round % 2 == 1 ? i : side.workers.size() - 1 - i;
    WorkerCall call = side.workers[turn];
    call.arguments.insert(call.arguments.end(), {"--blocks", "1"});
    measure(call, cases.workers[turn].fresh);
    measure(call.for_times_only(), cases.workers[turn].known);
  }
  measure(programs, cases.programs.fresh);
  measure(programs.for_times_only(), cases.programs.known);
  listener.write_references();
  return stop;
}

Stop Measurement::confirm(const MeasuredSide& side) {
  RunJournal& journal = side.journal;
  const CasesToConfirm suspicious = side.options.confirm(journal.run());
  note_unconfirmed(journal, suspicious.not_confirmed);
  if (!suspicious.not_confirmed.empty()) return Stop::done;
  std::vector<PlannedCase> cases = cases_to_confirm(journal.run(), suspicious.names);
  say(fmt::format("against the history {} of {} look{} suspicious{}", cases.size(),
                  quantity(journal.run().context.planned.size(), "case"), cases.size() == 1 ? "s" : "",
                  cases.empty() ? "" : ": timed again"));
  if (cases.empty()) return Stop::done;
  ConfirmationListener listener(journal, side.selection.device, cases.size());
  const auto programs = std::stable_partition(cases.begin(), cases.end(), [&](const PlannedCase& planned) {
    return !is_program_of(side.selection, planned);
  });
  const std::vector<PlannedCase> of_programs(programs, cases.end());
  cases.erase(programs, cases.end());
  const Stop stop = supervise_each(side, pointers_to(cases), listener, true);
  if (stop != Stop::done || of_programs.empty()) return stop;
  return supervise(supervisor_options(side, programs_call(side).for_times_only()), of_programs, listener);
}

/// Times the reference case as the first or the last of the run, unless the run measures no times.
void Measurement::note_reference(const MeasuredSide& side, bool is_last) {
  const RunContext& context = side.journal.run().context;
  if (context.memory_only || side.selection.device.backend == Backend::dry) return;
  if (!is_last && context.reference.first_ns) return;
  JournalListener listener(side.journal, side.options, side.selection, context.planned.size(),
                           side.journal.run().observations.size());
  const ReferenceTime time = measure_reference(supervisor_options(side, side.workers.front()), listener);
  side.journal.change([&](RunContext& changed) {
    changed.reference.add(time);
    (is_last ? changed.reference.last_ns : changed.reference.first_ns) = time.copy_ns;
  });
}

SupervisorOptions Measurement::supervisor_options(const MeasuredSide& side, const WorkerCall& call) const {
  const SweepOptions& options = side.options;
  const DeviceInfo& device = side.selection.device;
  SupervisorOptions supervisor;
  supervisor.worker.program = call.program;
  supervisor.worker.environment = recording_->variables();
  std::vector<std::string>& arguments = supervisor.worker.arguments;
  arguments = call.arguments;
  const auto add = [&](std::initializer_list<std::string> words) {
    arguments.insert(arguments.end(), words);
  };
  add({"--device", std::to_string(device.index), "--backend", std::string(to_string(device.backend)),
       "--require-recorder", "--report-steps"});
  if (call.cache) add({"--cache", *call.cache});
  if (options.memory_only) add({"--memory-only"});
  if (options.sequences) add({"--sequences"});
  if (options.repeat_call != 0) add({"--repeat-call", std::to_string(options.repeat_call)});
  if (options.repetitions) add({"--repetitions", std::to_string(*options.repetitions)});
  supervisor.case_limit = options.case_limit;
  supervisor.start_limit = std::max(supervisor.start_limit, options.case_limit.base);
  supervisor.deadline = deadline_;
  supervisor.interrupt = signals_.descriptor();
  return supervisor;
}

Stop ask_estimators(RunJournal& journal, const Vocabulary& vocabulary, AskLimits limits) {
  const std::vector<Observation> unasked = journal.unasked();
  if (unasked.empty()) return Stop::done;
  print_message(stderr, "measured; the suite's estimators are asked about {}\n",
                quantity(unasked.size(), "case"));
  Progress progress(stderr, is_terminal(stderr), unasked.size(), 0);
  EstimatorFailures failures;
  EstimatorWarnings warnings([&](const std::string& warning) {
    progress.message("warning: " + warning);
    journal.change([&](RunContext& context) {
      if (std::ranges::find(context.warnings, warning) == context.warnings.end())
        context.warnings.push_back(warning);
    });
  });
  limits.warnings = &warnings;
  ExternalAsker asker(vocabulary, limits);
  for (Observation observation : unasked) {
    progress.started(observation.case_name);
    std::optional<Stop> stop;
    try {
      asker.ask(observation);
    } catch (const Interrupted&) {
      stop = Stop::interrupted;
    } catch (const DeadlineError&) {
      stop = Stop::deadline;
    }
    end_orphans();
    journal.change(observation);
    if (stop) return *stop;
    progress.finished(false);
    failures.report(observation, progress);
  }
  return Stop::done;
}

}  // namespace peakmark
