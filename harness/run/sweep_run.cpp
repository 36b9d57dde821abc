#include "run/sweep_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "device/doctor/doctor.hpp"
#include "run/asked_estimates.hpp"
#include "run/device_lock.hpp"
#include "run/kernel_time.hpp"
#include "run/orphans.hpp"
#include "run/progress.hpp"
#include "run/recording_environment.hpp"
#include "run/repeat_command.hpp"
#include "run/run_context.hpp"
#include "run/run_journal.hpp"
#include "run/run_summary.hpp"
#include "run/signal_watch.hpp"
#include "run/supervisor.hpp"
#include "run/worker_program.hpp"

namespace peakmark {
namespace {

using Clock = WorkerProcess::Clock;

void say(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
  std::fflush(stderr);
}

/// Writes down what comes, and tells of it.
class Recording final : public SupervisorListener {
 public:
  Recording(RunJournal& journal, const SweepOptions& options, const Selection& selection)
      : journal_(journal),
        options_(options),
        device_(selection.device),
        vocabulary_(selection.suite.vocabulary),
        progress_(stderr, is_terminal(stderr), journal.run().context.planned.size(),
                  journal.run().observations.size()) {}

  void started(const PlannedCase& planned) override { progress_.started(planned.name); }
  void finished(const PlannedCase& planned, const Observation& measured) override {
    Observation observation = measured;
    note_external_estimates(planned, vocabulary_, observation);
    journal_.add(observation);
    progress_.finished(is_failure(planned, observation));
    if (name_of(observation.outcome) == planned.expected_outcome ||
        observation.outcome == Outcome::unsupported)
      return;
    progress_.message(
        fmt::format("{}: {}: {}", planned.name, name_of(observation.outcome), observation.message));
    if (is_failure(planned, observation)) {
      progress_.message("  alone: " + repeat_command(options_, device_, planned));
    }
  }
  void reference(const ReferenceTime& time) override {
    references_.push_back(time);  // the context is long: it is written once, when all are there
  }
  [[nodiscard]] const std::vector<ReferenceTime>& references() const { return references_; }
  void waiting() override { progress_.tick(); }
  void ended() override { end_orphans(); }
  void said(std::string_view line) override { progress_.message("worker: " + std::string(line)); }

 private:
  RunJournal& journal_;
  const SweepOptions& options_;
  const DeviceInfo& device_;
  const Vocabulary& vocabulary_;
  Progress progress_;
  std::vector<ReferenceTime> references_;
};

/// A worker, and what it is told beside the cases.
struct WorkerCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;
};

SupervisorOptions supervisor_options(const SweepOptions& options, const DeviceInfo& device,
                                     const WorkerCall& call, const SignalWatch& signals,
                                     const RecordingEnvironment& recording,
                                     std::optional<Clock::time_point> deadline) {
  SupervisorOptions supervisor;
  supervisor.worker.program = call.program;
  supervisor.worker.environment = recording.variables();
  supervisor.worker.arguments = call.arguments;
  supervisor.worker.arguments.insert(supervisor.worker.arguments.end(),
                                     {"--device", std::to_string(device.index), "--backend",
                                      std::string(name_of(device.backend)), "--require-recorder"});
  if (options.memory_only) supervisor.worker.arguments.emplace_back("--memory-only");
  if (options.repetitions) {
    supervisor.worker.arguments.insert(supervisor.worker.arguments.end(),
                                       {"--repetitions", std::to_string(*options.repetitions)});
  }
  supervisor.case_limit = options.case_limit;
  supervisor.start_limit = std::max(supervisor.start_limit, options.case_limit);
  supervisor.deadline = deadline;
  supervisor.interrupt = signals.descriptor();
  return supervisor;
}

/// Cases that name a backend other than the device's cannot be measured in this run.
void note_unsupported(RunJournal& journal, const DeviceInfo& device) {
  for (const PlannedCase& planned : journal.missing()) {
    if (!is_of_another_backend(planned, device)) continue;
    Observation observation;
    observation.case_name = planned.name;
    observation.axes = planned.the_case.parameters;
    observation.variant = planned.the_case.variant;
    observation.backend = planned.the_case.backend;
    observation.outcome = Outcome::unsupported;
    observation.message = fmt::format("this run measures on {} ({}); --backend {} measures this case",
                                      name_of(device.backend), device.name, planned.the_case.backend);
    journal.note(observation);
  }
}

void say_device(const DeviceInfo& device, bool memory_only) {
  say(fmt::format("device: {} {}: {}{}", name_of(device.backend), device.index, device.name,
                  device.driver.empty() ? "" : fmt::format(" (driver {})", device.driver)));
  if (device.is_cpu && device.backend != Backend::dry && !memory_only) {
    say("  it is a CPU: bytes are as on a GPU, times are CPU times and say nothing of a GPU");
  }
}

/// What spoils this run is said now, and stands in its file.
void note_findings(const MachineFacts& facts, const DeviceInfo& device, RunContext& context) {
  add_machine_facts(context, facts, device);
  for (const Finding& finding : diagnose(facts, &device)) {
    if (context.memory_only && finding.effect == Effect::timing) continue;
    const std::string warning = finding.mend.empty() ? finding.what : finding.what + ": " + finding.mend;
    say("  " + warning);
    context.warnings.push_back(warning);
  }
}

void change_context(RunJournal& journal, const std::function<void(RunContext&)>& change) {
  RunContext context = journal.run().context;
  change(context);
  journal.change(context);
}

void note_resumption(RunJournal& journal, const std::vector<std::string>& warnings) {
  say(fmt::format("  resumed: {} cases are measured already", journal.run().observations.size()));
  change_context(journal, [&](RunContext& context) {
    for (const std::string& warning : warnings) {
      auto& known = context.warnings;
      if (std::find(known.begin(), known.end(), warning) == known.end()) known.push_back(warning);
    }
  });
}

/// How a worker is supervised in this run.
using SupervisorOf = std::function<SupervisorOptions(const WorkerCall&)>;

class Sweep {
 public:
  explicit Sweep(const SweepOptions& options) : options_(options) {
    if (options.deadline) deadline_ = Clock::now() + *options.deadline;
  }

  ExitCode run() {
    RunJournal journal(options_.run_file);
    const std::vector<std::string> environment = current_environment();
    worker_ = find_worker(options_.worker);
    const Description description = describe_worker(worker_, signals_.descriptor());
    const MachineFacts facts = gather_machine_facts();
    const Selection selection =
        select(options_.selection, description, facts.devices, [&](const std::vector<PlannedCase>& cases) {
          check_cases(worker_, description, cases, signals_.descriptor());
        });
    say_device(selection.device, options_.memory_only);
    RunContext context = make_run_context(selection, description, options_.memory_only);
    note_findings(facts, selection.device, context);

    const bool resumed = options_.resume && journal.resume(context);
    if (resumed && journal.missing().empty() && journal.unasked().empty() && journal.run().context.complete) {
      say(options_.run_file.string() + " is complete: nothing to resume");
      return ExitCode::clean;
    }
    if (!resumed && journal.start(context) != 0) {
      say("  " + partial_of(options_.run_file).string() +
          " of a run that was cut short will be given up when the first case is measured; stop now and add "
          "--resume to go on with it");
    }
    if (resumed) note_resumption(journal, context.warnings);
    note_unsupported(journal, selection.device);
    adopt_orphans();
    const DeviceLock lock(
        selection.device,
        [](const std::string& path) { say("  waiting: another run uses this device (" + path + ")"); },
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
    if (signals_.raised()) throw Error(ExitCode::interrupted, "interrupted while waiting for the device");
    if (deadline_ && Clock::now() >= *deadline_) {
      throw Error(ExitCode::nothing, "the deadline came while waiting for the device; nothing was measured");
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
    const DeviceInfo& device = selection.device;
    Recording recording(journal, options_, selection);
    const SupervisorOptions supervisor = supervisor_of({worker_, {}});
    const bool has_reference = !options_.memory_only && device.backend != Backend::dry;
    if (has_reference && !journal.run().context.reference.first_ns) {
      const ReferenceTime time = measure_reference(supervisor, recording);
      recording.reference(time);
      change_context(journal, [&](RunContext& context) { context.reference.first_ns = time.copy_ns; });
    }
    Stop stop = supervise(supervisor, missing(journal, selection, false), recording);
    if (const auto programs = missing(journal, selection, true); stop == Stop::done && !programs.empty()) {
      stop = supervise(supervisor_of(programs_call()), programs, recording);
    }
    if (has_reference && stop == Stop::done) {
      const ReferenceTime time = measure_reference(supervisor, recording);
      recording.reference(time);
      change_context(journal, [&](RunContext& context) { context.reference.last_ns = time.copy_ns; });
    }
    if (!recording.references().empty()) {
      change_context(journal, [&](RunContext& context) {
        for (const ReferenceTime& time : recording.references()) context.reference.add(time);
      });
    }
    return stop;
  }

  /// Cases of programs, or all others, that have no observation yet.
  static std::vector<PlannedCase> missing(const RunJournal& journal, const Selection& selection,
                                          bool programs) {
    std::vector<PlannedCase> cases = journal.missing();
    std::erase_if(cases, [&](const PlannedCase& planned) {
      return (selection.suite.vocabulary.program(planned.the_case.variant) != nullptr) != programs;
    });
    return cases;
  }

  [[nodiscard]] WorkerCall programs_call() const {
    WorkerCall call{find_programs_worker(), {}};
    for (const auto& suite : options_.selection.suites) {
      call.arguments.push_back(std::filesystem::absolute(suite).string());
    }
    return call;
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
    if (stop != Stop::done) {
      const std::size_t unasked = journal.unasked().size();
      say(fmt::format("{}: {} cases are not measured{}; --resume goes on",
                      stop == Stop::interrupted ? "interrupted" : "stopped by the deadline",
                      journal.missing().size(),
                      unasked == 0 ? "" : fmt::format(", the estimators of {} not asked", unasked)));
    }
    return stop == Stop::interrupted ? ExitCode::interrupted : exit_code_of(journal.run());
  }

  const SweepOptions& options_;
  std::filesystem::path worker_;  ///< of the built-in variants
  SignalWatch signals_;
  std::optional<Clock::time_point> deadline_;
};

}  // namespace

ExitCode run_sweep(const SweepOptions& options) {
  return Sweep(options).run();
}

}  // namespace peakmark
