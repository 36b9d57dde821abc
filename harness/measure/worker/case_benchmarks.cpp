#include "measure/worker/case_benchmarks.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "base/error.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "measure/worker/worker_services.hpp"

namespace peakmark {

namespace {

TrialOptions trial_options(const WorkerOptions& options) {
  TrialOptions trial;
  trial.stopping.budget_ns = options.seconds_per_case * 1e9;
  trial.stopping.limit_ns = 10 * trial.stopping.budget_ns;
  trial.cache = parse_cache_choice(options.cache);
  if (options.blocks) {
    trial.stopping.min_blocks = static_cast<std::size_t>(*options.blocks);
    trial.stopping.max_blocks = trial.stopping.min_blocks;
    // A small number of blocks must be large: the median of 25 samples is robust if other processes disturb
    // some of them.
    trial.stopping.max_samples_per_block = 25;
    trial.stopping.blocks_per_budget = 4.0 * *options.blocks;
    trial.stopping.limit_ns = std::numeric_limits<double>::infinity();  // the supervisor has a limit
  }
  return trial;
}

void set_counter(benchmark::State& state, const char* name, const std::optional<Size>& value) {
  if (value) state.counters[name] = static_cast<double>(*value);
}

void set_counters(benchmark::State& state, const Observation& observation) {
  set_counter(state, "requested_peak_bytes", observation.requested_peak_bytes);
  set_counter(state, "first_call_peak_bytes", observation.first_call_peak_bytes);
  set_counter(state, "setup_bytes", observation.setup_bytes);
  set_counter(state, "leaked_bytes", observation.leaked_bytes);
  set_counter(state, "allocations", observation.allocations);
  for (const auto& [name, value] : observation.metrics) state.counters[name] = value;
  if (observation.estimate) {
    set_counter(state, "estimated_bytes", observation.estimate->bytes_estimated);
    set_counter(state, "estimated_slices", observation.estimate->slices_estimated);
  }
}

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Google Benchmark requires one iteration of its loop even if there is nothing to time.
void run_untimed_loop(benchmark::State& state) {
  while (state.KeepRunning()) state.SetIterationTime(0);
}

}  // namespace

class CaseBenchmarks::Entry {
 public:
  Entry(NamedCase named, const RegisteredVariant& variant_of_case, Backend backend_of_case)
      : named_case(std::move(named)), variant(variant_of_case), backend(backend_of_case) {}

  [[nodiscard]] const Observation& observation() const { return trial ? trial->observation() : untried; }

  NamedCase named_case;
  const RegisteredVariant& variant;
  Backend backend;
  std::unique_ptr<Trial> trial;
  Observation untried;  ///< the observation if there is no device
  bool begun = false;
  bool asked = false;  ///< whether its estimators were asked
  bool reported = false;
};

/// Forwards everything to the user's reporter, if there is one, and reports a case when it is complete.
class CaseBenchmarks::Reporter : public benchmark::BenchmarkReporter {
 public:
  Reporter(CaseBenchmarks& cases, benchmark::BenchmarkReporter* shown) : cases_(cases), shown_(shown) {}

  bool ReportContext(const Context& context) override {
    if (shown_ == nullptr) return true;
    shown_->SetOutputStream(&GetOutputStream());
    shown_->SetErrorStream(&GetErrorStream());
    return shown_->ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    if (!runs.empty()) cases_.report(runs.front().run_name.function_name);
    if (shown_ != nullptr) shown_->ReportRuns(runs);
  }
  void Finalize() override {
    if (shown_ != nullptr) shown_->Finalize();
  }

 private:
  CaseBenchmarks& cases_;
  benchmark::BenchmarkReporter* shown_;
};

CaseBenchmarks::CaseBenchmarks(const Registry& registry, WorkerDevices& devices, const WorkerOptions& options,
                               ObservationWriter& writer)
    : registry_(registry), devices_(devices), options_(options), writer_(writer), schedule_(now_ns()) {}

CaseBenchmarks::~CaseBenchmarks() = default;

void CaseBenchmarks::add(const std::vector<NamedCase>& cases) {
  const std::unique_ptr<DryDevice> checking = open_dry();
  for (const NamedCase& named : cases) {
    if (entry_of_case_.contains(named.name)) {
      throw UsageError(fmt::format("case '{}' is given twice", named.name));
    }
    const RegisteredVariant& variant = *registry_.find(named.sweep_case.variant);
    if (const auto mistake = mistake_in(variant, named.sweep_case.parameters, *checking)) {
      throw UsageError(fmt::format("case '{}': {}", named.name, mistake->text));
    }
    const Backend backend =
        named.sweep_case.backend == "auto" ? devices_.automatic() : parse_backend(named.sweep_case.backend);
    devices_.on(backend);  // opened before any measurement: its errors concern the whole run
    entries_.push_back(std::make_unique<Entry>(named, variant, backend));

    Entry& entry = *entries_.back();
    entry_of_case_.emplace(named.name, &entry);
    auto* registered = benchmark::RegisterBenchmark(
        // Google Benchmark before 1.8 takes a C string.
        named.name.c_str(),  // NOLINT(readability-redundant-string-cstr)
        [this, &entry](benchmark::State& state) { measure(state, entry); });
    registered->UseManualTime();
    if (backend == Backend::dry || options_.memory_only) registered->Iterations(1);
  }
}

void CaseBenchmarks::time_reference_if_due(Backend backend) {
  if (!options_.supervised() || options_.memory_only || backend == Backend::dry) return;
  const double begin = now_ns();
  if (!schedule_.due(begin)) return;
  DeviceInUse& use = devices_.on(backend);
  if (use.device == nullptr) return;
  writer_.reference(time_reference_case(*use.device, brief_stopping(), use.clocks.get()));
  schedule_.timed(begin, now_ns());
}

void CaseBenchmarks::begin(Entry& entry) {
  time_reference_if_due(entry.backend);
  entry.begun = true;
  // On `dry`, the bytes of a case do not affect its time.
  writer_.start(entry.named_case.name,
                entry.backend == Backend::dry
                    ? std::nullopt
                    : estimated_bytes(entry.variant, entry.named_case.sweep_case.parameters));
  DeviceInUse& use = devices_.on(entry.backend);
  const auto& backends = entry.variant.description.backends;
  const std::string backend(to_string(entry.backend));
  const bool known = std::find(backends.begin(), backends.end(), backend) != backends.end();
  if (use.device == nullptr || !known) {
    entry.untried.case_name = entry.named_case.name;
    entry.untried.axes = entry.named_case.sweep_case.parameters;
    entry.untried.variant = entry.named_case.sweep_case.variant;
    entry.untried.backend = backend;
    entry.untried.destroys_input = entry.variant.description.destroys_input;
    entry.untried.outcome = Outcome::unsupported;
    entry.untried.message =
        known ? use.missing
              : fmt::format("{} does not run on {}", entry.named_case.sweep_case.variant, backend);
    return;
  }
  TrialOptions trial = trial_options(options_);
  trial.clocks = use.clocks.get();
  trial.sequences = options_.sequences;
  trial.repeat_calls = options_.repeat_call;
  trial.guard = options_.guard;
  trial.verify = !options_.no_verify;
  trial.call_chains = use.call_chains.get();
  if (options_.report_steps) {
    trial.report_step = [this](std::string_view step) { writer_.step(step); };
    trial.mark_timed = [&name = entry.named_case.name](bool begins) { write_timed_mark({name, begins}); };
  }
  entry.trial = std::make_unique<Trial>(*use.device, use.events, entry.variant, entry.named_case.sweep_case,
                                        entry.named_case.name, trial);
  if (!options_.times_only) entry.trial->measure_memory();
}

void CaseBenchmarks::measure(benchmark::State& state, Entry& entry) {
  if (stopped_) {
    state.SkipWithError("not measured: an earlier case left the device unusable");
    return;
  }
  if (!entry.begun) begin(entry);
  if (entry.observation().outcome == Outcome::ok) {
    if (options_.memory_only || entry.backend == Backend::dry) {
      run_untimed_loop(state);
    } else if (state.max_iterations == 1) {
      time_by_own_rule(state, entry);
    } else {
      time_by_the_library(state, entry);
    }
  }
  if (!options_.supervised() && entry.trial && !entry.asked) {  // one of the counters is the estimated bytes
    entry.asked = true;
    entry.trial->ask_estimators();
  }
  const Observation& observation = entry.observation();
  set_counters(state, observation);
  if (observation.outcome != Outcome::ok) {
    const std::string message =
        observation.message.empty()
            ? std::string(to_string(observation.outcome))
            : fmt::format("{}: {}", to_string(observation.outcome), observation.message);
    state.SkipWithError(message.c_str());  // NOLINT(readability-redundant-string-cstr)
  }
}

void CaseBenchmarks::time_by_own_rule(benchmark::State& state, Entry& entry) {
  const std::optional<Timing> timing = entry.trial->measure_time(devices_.on(entry.backend).tracer.get());
  if (!timing) {
    state.SkipWithError("the device has no clock");
    return;
  }
  // One batch reports all calls: Google Benchmark requested one iteration and accepts any number.
  while (state.KeepRunningBatch(timing->calls())) state.SetIterationTime(timing->total_ns * 1e-9);
}

void CaseBenchmarks::time_by_the_library(benchmark::State& state, Entry& entry) {
  const std::unique_ptr<CaseInstance> instance = entry.trial->instance_to_time();
  std::vector<double> samples;
  while (state.KeepRunning()) {
    const std::optional<double> ns =
        instance ? entry.trial->time_one_call(*instance) : std::optional<double>();
    if (!ns) {
      state.SkipWithError("the device has no clock");
      return;
    }
    samples.push_back(*ns);
    state.SetIterationTime(*ns * 1e-9);
  }
  entry.trial->add_block(std::move(samples));
}

void CaseBenchmarks::report(const std::string& case_name) {
  const auto found = entry_of_case_.find(case_name);
  if (found == entry_of_case_.end() || !found->second->begun) return;
  Entry& entry = *found->second;
  if (entry.reported) return;  // the library reports the case again with the aggregates of repetitions
  entry.reported = true;
  const bool has_questions = options_.supervised() && entry.trial && !options_.times_only;
  if (has_questions) entry.trial->list_estimators();
  writer_.observation(entry.observation());
  if (has_questions)
    entry.trial->ask_estimators([this](const EstimateObservation& answer) { writer_.answer(answer); });
  const Outcome outcome = entry.observation().outcome;
  failed_ = failed_ || outcome == Outcome::crashed || outcome == Outcome::wrong_answer;
  if (!entry.trial) return;
  device_is_broken_ = device_is_broken_ || entry.trial->device_is_broken();
  // A user who runs the worker directly continues after a leak; a supervisor starts another process.
  stopped_ = stopped_ || device_is_broken_ || (options_.supervised() && entry.trial->device_is_spoiled());
}

int CaseBenchmarks::run() {
  // Every version reads an empty time as 0 s. Since 1.8 the library requires a unit, which 1.7 refuses.
  std::vector<std::string> arguments = {"peakmark-bench", "--benchmark_min_time="};
  // Without a filter, Google Benchmark 1.7 copies its list of benchmarks once for each benchmark.
  if (options_.supervised()) arguments.emplace_back("--benchmark_filter=^");
  if (options_.repetitions > 1) {
    arguments.push_back(fmt::format("--benchmark_repetitions={}", options_.repetitions));
  }
  arguments.insert(arguments.end(), options_.benchmark_arguments.begin(), options_.benchmark_arguments.end());
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, pointers.data());
  if (benchmark::ReportUnrecognizedArguments(count, pointers.data()))
    return static_cast<int>(ExitCode::usage);

  Reporter reporter(*this, options_.supervised() ? nullptr : benchmark::CreateDefaultDisplayReporter());
  const std::size_t matched = benchmark::RunSpecifiedBenchmarks(&reporter);
  ExitCode code = ExitCode::clean;
  if (matched == 0) code = ExitCode::nothing;
  if (failed_ || stopped_) code = ExitCode::measurement;
  if (device_is_broken_) {  // its driver may do anything in destructors and exit handlers
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  }
  benchmark::Shutdown();
  return static_cast<int>(code);
}

}  // namespace peakmark
