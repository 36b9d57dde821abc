#include "supervise/measuring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/text.hpp"
#include "runfile/run_summary.hpp"
#include "subprocess/processes.hpp"
#include "supervise/external_estimates.hpp"
#include "supervise/repeat_command.hpp"
#include "supervise/run_context.hpp"

namespace peakmark {
namespace {

/// Cases of a round, by who measures them and how.
struct CasesOfRound {
  struct OfWorker {
    std::vector<PlannedCase> fresh;  ///< verified, their memory measured, and timed
    std::vector<PlannedCase> known;  ///< timed
  };
  std::vector<OfWorker> workers;
  OfWorker programs;
  std::size_t total = 0;
};

CasesOfRound cases_of_round(const RoundsOfRun& run, int round) {
  const Run& measured = run.journal.run();
  std::unordered_set<std::string_view> known;
  for (const Observation& one : measured.observations) known.insert(one.case_name);
  CasesOfRound cases;
  cases.workers.resize(run.workers.size());
  for (PlannedCase& planned :
       in_order_of_round(left_in_round(measured, round), measured.context.rounds->seed, round)) {
    ++cases.total;
    CasesOfRound::OfWorker& worker =
        is_program_of(run.selection, planned) ? cases.programs : cases.workers.at(run.worker_of(planned));
    auto& list = known.contains(planned.name) ? worker.known : worker.fresh;
    list.push_back(std::move(planned));
  }
  return cases;
}

}  // namespace

void say(const std::string& line) {
  print_message(stderr, "{}\n", line);
  std::fflush(stderr);
}

void say_device(const DeviceInfo& device, bool memory_only) {
  say(fmt::format("device: {} {}: {}{}", to_string(device.backend), device.index, device.name,
                  device.driver.empty() ? "" : fmt::format(" (driver {})", device.driver)));
  if (device.is_cpu && device.backend != Backend::dry && !memory_only) {
    say("  it is a CPU: bytes are as on a GPU, times are CPU times and say nothing of a GPU");
  }
}

Journaling::Journaling(RunJournal& journal, const SweepOptions& options, const Selection& selection,
                       std::size_t total, std::size_t done, std::optional<int> round)
    : journal_(journal),
      options_(options),
      device_(selection.device),
      vocabulary_(selection.suite.vocabulary),
      round_(round),
      progress_(stderr, is_terminal(stderr), total, done) {}

void say_checking(std::size_t cases) {
  constexpr std::size_t kMinCases = 10'000;  // fewer take a second
  if (cases >= kMinCases) say(fmt::format("  {} cases: the worker checks whether it can run them", cases));
}

std::string screening_pass_text(std::size_t chosen, std::size_t cases) {
  return fmt::format("first look: {} of {} {} measured again", chosen, quantity(cases, "case"),
                     chosen == 1 ? "is" : "are");
}

void start_journal(RunJournal& journal, RunContext context, const std::filesystem::path& run_file) {
  const std::filesystem::path kept = journal.start(std::move(context));
  if (kept.empty()) return;
  say(fmt::format(
      "  {} is of a run that was cut short, and is kept as {} when the first case is measured; stop "
      "now and add --resume to go on with it",
      partial_of(run_file).string(), kept.filename().string()));
}

DeviceLockOptions lock_options(const SweepOptions& options) {
  DeviceLockOptions lock;
  for (const std::filesystem::path& suite : options.selection.suites) {
    lock.suite += (lock.suite.empty() ? "" : ", ") + suite.string();
  }
  lock.memory_only = options.memory_only;
  lock.no_wait = options.no_wait;
  return lock;
}

void Journaling::starting(std::size_t cases) {
  progress_.starting("starting the worker for " + quantity(cases, "case"));
}

void Journaling::started(const PlannedCase& planned) {
  progress_.started(planned.name);
}

void Journaling::ended() {
  for (const pid_t child : end_orphans()) {
    progress_.message(given_up_text(child) + "; a worker left it behind, and the run goes on without it");
  }
}

void Journaling::write_references() {
  if (references_.empty()) return;
  change_context(journal_, [&](RunContext& context) {
    for (const ReferenceTime& time : references_) context.reference.add(time);
  });
  references_.clear();
}

void Journaling::finished(const PlannedCase& planned, const Observation& measured) {
  Observation observation = round_ ? as_round(measured, *round_) : measured;
  note_external_estimates(planned, vocabulary_, observation);
  journal_.add(observation);
  progress_.finished(is_failure(planned, observation));
  const bool is_screening_pass = !round_ || *round_ == 1;
  if (is_screening_pass && observation.outcome == Outcome::ok && !observation.message.empty() &&
      told_.emplace(observation.variant, observation.message).second) {
    progress_.message(fmt::format("{}: {}", planned.name, observation.message));
  }
  const CaseEnd end = end_of(planned, observation);
  if (end == CaseEnd::failed) {
    progress_.message(planned.name + ": " + reason_of(observation));
    progress_.message("  alone: " + repeat_command(options_, device_, planned));
  } else if (end == CaseEnd::skipped && is_screening_pass &&
             told_.emplace(observation.variant, reason_of(observation)).second) {
    progress_.message(planned.name + ": skipped: " + reason_of(observation));
  }
}

void set_cache(const std::vector<std::pair<WorkerCall*, const Description*>>& workers,
               const std::optional<std::string>& asked) {
  const auto old = std::ranges::find_if(workers, [](const auto& one) { return !one.second->takes_cache; });
  if (old != workers.end() && asked && *asked != cache_state::hot) {
    throw UsageError(
        fmt::format("--cache {}: {} was built with an older peakmark and takes hot times only; build it anew",
                    *asked, old->first->program.string()));
  }
  for (const auto& [call, description] : workers) {
    if (!description->takes_cache) continue;
    call->cache = old == workers.end() ? asked : std::optional(std::string(cache_state::hot));
  }
}

WorkerCall WorkerCall::for_times_only() const {
  WorkerCall call = *this;
  call.arguments.emplace_back("--times-only");
  return call;
}

SupervisorOptions supervisor_options(const SweepOptions& options, const DeviceInfo& device,
                                     const WorkerCall& call, const SignalWatch& signals,
                                     const RecordingEnvironment& recording,
                                     std::optional<WorkerProcess::Clock::time_point> deadline) {
  SupervisorOptions supervisor;
  supervisor.worker.program = call.program;
  supervisor.worker.environment = recording.variables();
  supervisor.worker.arguments = call.arguments;
  supervisor.worker.arguments.insert(supervisor.worker.arguments.end(),
                                     {"--device", std::to_string(device.index), "--backend",
                                      std::string(to_string(device.backend)), "--require-recorder"});
  if (call.cache) {
    supervisor.worker.arguments.insert(supervisor.worker.arguments.end(), {"--cache", *call.cache});
  }
  if (call.reports_steps) supervisor.worker.arguments.emplace_back("--report-steps");
  if (options.memory_only) supervisor.worker.arguments.emplace_back("--memory-only");
  if (options.repetitions) {
    supervisor.worker.arguments.insert(supervisor.worker.arguments.end(),
                                       {"--repetitions", std::to_string(*options.repetitions)});
  }
  supervisor.case_limit = options.case_limit;
  supervisor.start_limit = std::max(supervisor.start_limit, options.case_limit.base);
  supervisor.deadline = deadline;
  supervisor.interrupt = signals.descriptor();
  return supervisor;
}

void note_unsupported(RunJournal& journal, const DeviceInfo& device) {
  for (const PlannedCase& planned : journal.missing()) {
    if (!is_of_another_backend(planned, device)) continue;
    Observation observation;
    observation.case_name = planned.name;
    observation.axes = planned.sweep_case.parameters;
    observation.variant = planned.sweep_case.variant;
    observation.backend = planned.sweep_case.backend;
    observation.outcome = Outcome::unsupported;
    observation.message = fmt::format("this run measures on {} ({}); --backend {} measures this case",
                                      to_string(device.backend), device.name, planned.sweep_case.backend);
    journal.note(observation);
  }
}

void note_findings(const MachineFacts& facts, const DeviceInfo& device, RunContext& context) {
  add_machine_facts(context, facts, device);
  for (const Finding& finding : diagnose(facts, &device)) {
    if (context.memory_only && finding.effect == Effect::timing) continue;
    const std::string warning = finding.fix.empty() ? finding.what : finding.what + ": " + finding.fix;
    say("  " + warning);
    context.warnings.push_back(warning);
  }
}

void change_context(RunJournal& journal, const std::function<void(RunContext&)>& change) {
  journal.change(change);
}

void note_reference(RunJournal& journal, const SupervisorOptions& supervisor, SupervisorListener& listener,
                    const DeviceInfo& device, bool last) {
  const RunContext& context = journal.run().context;
  if (context.memory_only || device.backend == Backend::dry) return;
  if (!last && context.reference.first_ns) return;
  const ReferenceTime time = measure_reference(supervisor, listener);
  listener.reference(time);
  change_context(journal, [&](RunContext& changed) {
    (last ? changed.reference.last_ns : changed.reference.first_ns) = time.copy_ns;
  });
}

bool is_program_of(const Selection& selection, const PlannedCase& planned) {
  return selection.suite.vocabulary.program(planned.sweep_case.variant) != nullptr;
}

Stop measure_round(const RoundsOfRun& run, int round) {
  const CasesOfRound cases = cases_of_round(run, round);
  if (cases.total == 0) return Stop::done;
  Journaling journaling(run.journal, run.options, run.selection, cases.total, 0, round);
  Stop stop = Stop::done;
  const auto measure = [&](const WorkerCall& call, const std::vector<PlannedCase>& some) {
    if (stop == Stop::done && !some.empty()) stop = supervise(run.supervisor_of(call), some, journaling);
  };
  for (std::size_t i = 0; i < run.workers.size(); ++i) {
    // Every other round the other way round: what drifts evenly falls on all alike.
    const std::size_t turn = round % 2 == 1 ? i : run.workers.size() - 1 - i;
    const CasesOfRound::OfWorker& of_worker = cases.workers[turn];
    WorkerCall worker = run.workers[turn];
    if (run.takes_blocks) worker.arguments.insert(worker.arguments.end(), {"--blocks", "1"});
    measure(worker, of_worker.fresh);
    measure(run.takes_blocks ? worker.for_times_only() : worker, of_worker.known);
  }
  measure(run.programs, cases.programs.fresh);
  measure(run.programs.for_times_only(), cases.programs.known);
  journaling.write_references();
  return stop;
}

}  // namespace peakmark
