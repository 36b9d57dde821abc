#include "measure/worker/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <new>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/worker/estimates.hpp"
#include "record/ledger/repetitions.hpp"

namespace peakmark {

using backend::Device;

namespace {

constexpr std::string_view kRepeatedCall = "call";
constexpr std::string_view kMaking = "the constructor of the case";

void append_block(std::optional<GpuTime>& time, std::vector<double> samples_ns) {
  std::vector<std::vector<double>> blocks;
  if (time) blocks = std::move(time->blocks);
  blocks.push_back(std::move(samples_ns));
  time = summarise_blocks(std::move(blocks));
}

/// Marks the beginning and the end of timed calls.
class TimedSection {
 public:
  explicit TimedSection(const std::function<void(bool)>& mark) : mark_(mark) {
    if (mark_) mark_(true);
  }
  TimedSection(const TimedSection&) = delete;
  TimedSection& operator=(const TimedSection&) = delete;
  ~TimedSection() {
    if (mark_) mark_(false);
  }

 private:
  const std::function<void(bool)>& mark_;
};

}  // namespace

CacheChoice parse_cache_choice(std::string_view name) {
  if (name == "auto") return CacheChoice::automatic;
  if (name == "cold") return CacheChoice::cold;
  if (name == "hot") return CacheChoice::hot;
  if (name == "both") return CacheChoice::both;
  throw UsageError(fmt::format("unknown cache '{}'; choose auto, cold, hot or both", name));
}

Trial::Trial(Device& device, EventSource* events, const RegisteredVariant& variant,
             const SweepCase& sweep_case, std::string name, const TrialOptions& options)
    : device_(device), events_(events), variant_(variant), options_(options) {
  observation_.case_name = std::move(name);
  observation_.axes = sweep_case.parameters;
  observation_.variant = sweep_case.variant;
  observation_.backend = to_string(device.info().backend);
  observation_.destroys_input = variant.description.destroys_input;
}

void Trial::fail(Outcome outcome, const std::string& message) {
  if (observation_.outcome != Outcome::ok) return;  // the first error is the cause
  observation_.outcome = outcome;
  observation_.message = message;
}

/// Runs `step`. An exception becomes the outcome. Returns true if nothing was thrown.
bool Trial::attempt(const std::function<void()>& step) {
  try {
    step();
    return true;
  } catch (const OutOfMemoryError& error) {
    fail(Outcome::out_of_memory, error.what());
  } catch (const UnsupportedError& error) {
    fail(Outcome::unsupported, error.what());
  } catch (const UsageError& error) {
    fail(Outcome::crashed, error.what());
  } catch (const std::bad_alloc&) {
    fail(Outcome::crashed, "the host has too little memory for this case");
  } catch (const std::exception& error) {
    fail(Outcome::crashed, error.what());
    broken_ = true;
  }
  return false;
}

void Trial::mark(std::string_view phase) {
  if (events_ != nullptr) events_->phase(phase);
}

void Trial::report(std::string_view step) {
  step_ = step;
  if (options_.report_step) options_.report_step(step);
}

/// Waits until the work of a step is done. A write outside of an array is the error of that step.
void Trial::finish() {
  device_.finish();
  const std::vector<std::string> found = device_.overwritten_guards();
  if (found.empty()) return;
  const std::string others =
      found.size() == 1 ? "" : fmt::format("; {} as well", quantity(found.size() - 1, "other array"));
  fail(Outcome::wrong_answer,
       fmt::format("a write outside of an array, in {}: {}{}", step_, found.front(), others));
}

void Trial::run_steps(CaseInstance& instance, Pass pass) {
  // Each phase is finished on the device before the next is marked, so that its enqueued work counts for it.
  report("`set_up`");
  mark(phase::set_up);
  instance.set_up();
  finish();
  report("`create_inputs`");
  mark(phase::inputs);
  instance.create_inputs();
  finish();
  report("`create_outputs`");
  mark(phase::outputs);
  instance.create_outputs();
  finish();
  report("the first `call`");
  mark(phase::call_1);
  instance.call();
  finish();
  if (observation_.destroys_input) {
    report("`restore_inputs`");
    mark(phase::restore);
    instance.restore_inputs();
    finish();
  }
  report("the second `call`");
  mark(phase::call_2);
  instance.call();
  finish();
  report("`bytes_moved`");
  mark(phase::verify);
  observation_.bytes_moved = instance.bytes_moved();
  observation_.flops = instance.flops();
  observation_.output_dtype = std::string(to_string(instance.output_dtype()));
  if (pass != Pass::first || device_.is_dry()) return;
  if (!options_.verify) return read_metrics(instance);
  report("`verify`");
  const std::optional<std::string> error = instance.verify();
  if (error) fail(Outcome::wrong_answer, *error);
  read_metrics(instance);
}

/// A metric that is not valid, such as NaN, is a wrong answer: a limit of it must not pass.
void Trial::read_metrics(const CaseInstance& instance) {
  report("`metrics`");
  for (const CaseInstance::Metric& metric : instance.metrics()) {
    const std::string_view direction = metric.better == PEAKMARK_HIGHER  ? metric_direction::higher
                                       : metric.better == PEAKMARK_LOWER ? metric_direction::lower
                                                                         : "";
    try {
      add_metric(observation_, metric.name, metric.value, direction);
    } catch (const UsageError& error) {
      fail(Outcome::wrong_answer, error.what());
    }
  }
}

void Trial::settle_leak(std::uint64_t first_event) {
  const auto deadline = std::chrono::steady_clock::now() + options_.late_release;
  std::uint64_t seen = events_->count();
  Size live = live_after(events_->events(first_event));
  while (live != 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (events_->count() == seen) continue;
    seen = events_->count();
    live = live_after(events_->events(first_event));
  }
  observation_.leaked_bytes = std::max(live, observation_.leaked_bytes.value_or(0));
}

void Trial::count_failed_allocations(std::uint64_t first_event) {
  for (const Event& event : events_->events(first_event)) {
    if (event.type != EventType::failed_allocation) continue;
    observation_.failed_allocations = observation_.failed_allocations.value_or(0) + 1;
    observation_.largest_refused_bytes =
        std::max(observation_.largest_refused_bytes.value_or(0), event.amounts.bytes);
  }
}

/// Reports how many arrays of the first pass had guards, and which of its allocations had none.
void Trial::count_guards(std::uint64_t first_event) {
  if (!options_.guard || device_.is_dry()) return;
  const std::vector<std::uint64_t>& guarded = device_.guarded_allocations();
  observation_.guarded_arrays = std::ssize(guarded);
  if (events_ == nullptr) return;
  std::map<std::string, Size> others;  // kind → number
  Size count = 0;
  std::size_t next = 0;
  for (const Event& event : events_->events(first_event)) {
    if (event.type != EventType::allocation || event.kind == MemoryKind::view) continue;
    // Both are in the order of the allocations.
    if (next < guarded.size() && event.address == guarded[next]) {
      ++next;
    } else {
      ++others[to_string(event.kind)];
      ++count;
    }
  }
  observation_.unguarded_allocations = count;
  if (count == 0) return;
  std::string kinds;
  for (const auto& [kind, number] : others)
    kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", number, kind);
  note(fmt::format("{} without guards ({}): not made by `Device::create`", quantity(count, "allocation"),
                   kinds));
}

std::optional<MemoryPass> Trial::memory_pass(Pass pass) {
  const std::uint64_t first_event = events_ != nullptr ? events_->count() : 0;
  // The passes have different patterns, since a write of exactly the pattern is not found.
  if (options_.guard) device_.begin_guards(pass == Pass::first ? GuardFill::plain : GuardFill::inverted);
  const bool passed = attempt([&] {
    report(kMaking);
    const std::unique_ptr<CaseInstance> instance = variant_.make(device_, observation_.axes);
    run_steps(*instance, pass);
    report("the destructor of the case");
    mark(phase::end);
  });
  if (!passed) mark(phase::end);
  if (!broken_) attempt([&] { finish(); });
  if (passed && pass == Pass::first) count_guards(first_event);
  if (events_ == nullptr) return std::nullopt;
  settle_leak(first_event);
  count_failed_allocations(first_event);
  if (!passed) return std::nullopt;
  const CallChain call_chain = [this](std::uint64_t stack) {
    return options_.call_chains != nullptr ? options_.call_chains->chain(stack) : "";
  };
  if (options_.call_chains != nullptr) options_.call_chains->add_new(*events_);
  return record_of_pass(events_->events(first_event), options_.sequences ? &call_chain : nullptr);
}

/// Makes calls of one instance, and finds memory that each of them leaves allocated until the last.
void Trial::repeat_calls() {
  if (options_.repeat_calls == 0 || events_ == nullptr || observation_.outcome != Outcome::ok) return;
  const std::uint64_t first_event = events_->count();
  const bool passed = attempt([&] {
    report(kMaking);
    const std::unique_ptr<CaseInstance> instance = variant_.make(device_, observation_.axes);
    instance->set_up();
    instance->create_inputs();
    instance->create_outputs();
    finish();
    for (int call = 1; call <= options_.repeat_calls; ++call) {
      report(fmt::format("call {} of {}", call, options_.repeat_calls));
      mark(kRepeatedCall);
      instance->call();
      finish();
      mark(phase::restore);
      if (observation_.destroys_input) instance->restore_inputs();
      finish();
    }
    report("the destructor of the case");
    mark(phase::end);
  });
  if (!broken_) attempt([&] { finish(); });
  settle_leak(first_event);
  if (!passed) return;
  if (options_.call_chains != nullptr) options_.call_chains->add_new(*events_);
  observation_.repeated_calls = options_.repeat_calls;
  for (const RepeatedPhase& one : find_repetitions(events_->events(first_event), {.is_settled = true})) {
    if (one.phase == kRepeatedCall) note_repetitions(one, observation_);
  }
}

void Trial::measure_memory() {
  device_.set_event_source(events_);
  const std::optional<MemoryPass> first = memory_pass(Pass::first);
  // The second pass only checks the first one: without a recorder, or after a failure, there is nothing to
  // check.
  if (first) {
    const std::optional<MemoryPass> second = memory_pass(Pass::second);
    note_memory(*first, second, observation_);
  }
  repeat_calls();
  device_.set_event_source(nullptr);
}

void Trial::set_estimates(std::vector<EstimateObservation> estimates) {
  if (estimates.empty()) return;
  observation_.estimate = std::move(estimates.front());
  observation_.other_estimates.assign(std::make_move_iterator(estimates.begin() + 1),
                                      std::make_move_iterator(estimates.end()));
}

void Trial::list_estimators() {
  set_estimates(unasked_estimates(variant_, observation_.axes));
}

void Trial::ask_estimators(const std::function<void(const EstimateObservation&)>& answered) {
  set_estimates(peakmark::ask_estimators(variant_, observation_.axes, observation_.requested_peak_bytes,
                                         options_.report_step, answered));
}

bool Trial::can_be_timed() const {
  return observation_.outcome == Outcome::ok && !device_.is_dry();
}

std::unique_ptr<CaseInstance> Trial::instance_to_time() {
  std::unique_ptr<CaseInstance> instance;
  if (!can_be_timed()) return instance;
  const bool ready = attempt([&] {
    report(kMaking);
    instance = variant_.make(device_, observation_.axes);
    report("`set_up`");
    instance->set_up();
    report("`create_inputs`");
    instance->create_inputs();
    report("`create_outputs`");
    instance->create_outputs();
    device_.finish();
    report("the calls that are timed");
  });
  if (!ready) instance.reset();
  return instance;
}

TimedWork Trial::timed_work(CaseInstance& instance) const {
  TimedWork work;
  work.call = [&instance] { instance.call(); };
  if (observation_.destroys_input) work.restore = [&instance] { instance.restore_inputs(); };
  return work;
}

std::optional<double> Trial::time_one_call(CaseInstance& instance) {
  std::optional<double> ns;
  attempt([&] {
    if (!flush_) open_flush();
    ns = elapsed_of_calls(device_, timed_work(instance), 1, flush_.get());
  });
  if (!ns) flush_.reset();
  return ns;
}

bool Trial::wants_cold() const {
  if (options_.cache == CacheChoice::automatic) return !device_.info().is_cpu;
  return options_.cache != CacheChoice::hot;
}

void Trial::note(const std::string& text) {
  std::string& message = observation_.message;
  if (message.find(text) == std::string::npos) message += (message.empty() ? "" : "; ") + text;
}

/// Makes later times cold if requested and possible; otherwise hot, which the observation says.
void Trial::open_flush() {
  if (wants_cold() && observation_.cache != cache_state::hot) {
    try {
      flush_ = std::make_unique<CacheFlush>(device_);
    } catch (const OutOfMemoryError&) {
      if (observation_.gpu_time) throw;  // earlier repetitions were cold: cold and hot times are never mixed
      note("hot times: too little device memory for the buffer that flushes the cache");
    } catch (const UnsupportedError& error) {
      note(fmt::format("hot times: {}", error.what()));
    }
  }
  observation_.cache = flush_ ? cache_state::cold : cache_state::hot;
}

void Trial::add_block(std::vector<double> samples_ns) {
  flush_.reset();  // its memory must not count for later cases
  append_block(observation_.gpu_time, std::move(samples_ns));
  observation_.time_source = time_source::device;
}

std::optional<Timing> Trial::measure_time(KernelTracer* tracer) {
  const std::unique_ptr<CaseInstance> instance = instance_to_time();
  if (!instance) return std::nullopt;
  std::optional<Timing> timing;
  std::optional<Timing> hot;
  const bool timed = attempt([&] {
    const auto time = [&](const std::optional<TimingPlan>& plan, KernelTracer* traced) {
      return time_calls(device_, timed_work(*instance), options_.stopping, plan, traced,
                        {flush_.get(), options_.clocks});
    };
    open_flush();
    const TimedSection section(options_.mark_timed);
    timing = time(plan_, tracer);
    const bool is_cold = flush_ != nullptr;
    flush_.reset();
    if (timing && is_cold && options_.cache == CacheChoice::both) hot = time(hot_plan_, nullptr);
  });
  flush_.reset();
  if (!timed || !timing) return std::nullopt;
  plan_ = timing->plan;
  for (const auto& block : timing->gpu_time.blocks) add_block(block);
  if (!timing->kernels.empty()) observation_.kernels = timing->kernels;
  note_throttling(*timing);
  if (hot) {
    hot_plan_ = hot->plan;
    for (const auto& block : hot->gpu_time.blocks) append_block(observation_.gpu_time_hot, block);
  }
  return timing;
}

void Trial::note_throttling(const Timing& timing) {
  if (!timing.throttled_blocks) return;
  observation_.throttled_blocks = observation_.throttled_blocks.value_or(0) + *timing.throttled_blocks;
  if (timing.always_throttled) {
    note("throttled: the device's clocks were held down in every block; cool it, or lock lower clocks");
  }
}

}  // namespace peakmark
