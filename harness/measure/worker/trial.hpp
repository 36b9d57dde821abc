#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "measure/device/device.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/worker/pass_record.hpp"
#include "measure/worker/timing.hpp"
#include "measure/worker/variant.hpp"
#include "record/profile/event.hpp"
#include "record/show/recorded_sequence.hpp"

namespace peakmark {

/// Which times of a case are measured.
enum class CacheChoice : std::uint8_t {
  automatic,  ///< cold on a GPU, hot on a CPU
  cold,
  hot,
  both  ///< cold and hot
};
/// Throws UsageError that lists the choices.
CacheChoice parse_cache_choice(std::string_view name);

struct TrialOptions {
  StoppingOptions stopping;
  CacheChoice cache = CacheChoice::automatic;
  ClockSource* clocks = nullptr;  ///< null: the clocks of the device are unknown
  /// How long late destructors may keep memory before it counts as leaked. Only cases with memory left wait.
  std::chrono::milliseconds late_release{1000};
  bool sequences = false;             ///< keep the sequence of allocations of the memory pass
  int repeat_calls = 0;               ///< further calls that find a leak of each call; 0: none
  bool guard = false;                 ///< put guards around arrays, and find writes outside of them
  bool verify = true;                 ///< whether to verify the result of the first memory pass
  CallChains* call_chains = nullptr;  ///< of the event source; null: no call stacks are recorded
  /// Called before each step, so that a crash can be attributed to a step. May be empty.
  std::function<void(std::string_view)> report_step = nullptr;
  /// Called with true before the timed calls and with false after them. May be empty.
  std::function<void(bool)> mark_timed = nullptr;
};

/// One case on one device: two memory passes, the first with verification, then timings, then estimators.
/// Errors of a case are not thrown: they become the outcome of the observation.
class Trial {
 public:
  /// `events`: the recorder of this device's allocations; if null, the memory figures are unknown.
  Trial(backend::Device& device, EventSource* events, const RegisteredVariant& variant,
        const SweepCase& sweep_case, std::string name, const TrialOptions& options);

  /// Measures the memory: two passes, and further calls if requested. Call it once, before any timing.
  void measure_memory();

  /// Times a new instance of the case and adds the times to the observation. A repetition makes as many calls
  /// as the first timing. Returns null if there is nothing to time: on `dry`, or after the case has failed.
  std::optional<Timing> measure_time(KernelTracer* tracer = nullptr);

  /// For a loop that decides itself how long it runs. `instance_to_time` returns an instance that is ready
  /// for `call` (null if there is nothing to time), `time_one_call` the ns of one call (null if it failed),
  /// and `add_block` adds samples to the observation.
  std::unique_ptr<CaseInstance> instance_to_time();
  std::optional<double> time_one_call(CaseInstance& instance);
  void add_block(std::vector<double> samples_ns);

  /// Adds the variant's estimators to the observation, without answers.
  void list_estimators();
  /// Calls the estimators and adds their answers to the observation. Call it last, after the observation is
  /// written: an estimator that ends or blocks this process then loses no measurement. `answered`: called for
  /// each answer.
  void ask_estimators(const std::function<void(const EstimateObservation&)>& answered = nullptr);

  [[nodiscard]] const Observation& observation() const { return observation_; }
  /// Returns true if the device may be broken, or memory was leaked. Then the next case should run in a new
  /// process.
  [[nodiscard]] bool device_is_spoiled() const {
    return broken_ || observation_.leaked_bytes.value_or(0) != 0;
  }
  [[nodiscard]] bool device_is_broken() const { return broken_; }

 private:
  bool attempt(const std::function<void()>& step);
  enum class Pass : std::uint8_t { first, second };
  std::optional<MemoryPass> memory_pass(Pass pass);
  void run_steps(CaseInstance& instance, Pass pass);
  void read_metrics(const CaseInstance& instance);
  void mark(std::string_view phase);
  void report(std::string_view step);
  void finish();
  void count_guards(std::uint64_t first_event);
  void repeat_calls();
  void settle_leak(std::uint64_t first_event);
  void count_failed_allocations(std::uint64_t first_event);
  void fail(Outcome outcome, const std::string& message);
  [[nodiscard]] bool can_be_timed() const;
  [[nodiscard]] TimedWork timed_work(CaseInstance& instance) const;
  [[nodiscard]] bool wants_cold() const;
  void open_flush();
  void set_estimates(std::vector<EstimateObservation> estimates);
  void note(const std::string& text);
  void note_throttling(const Timing& timing);

  backend::Device& device_;
  EventSource* events_;
  const RegisteredVariant& variant_;
  TrialOptions options_;
  Observation observation_;
  std::optional<TimingPlan> plan_;
  std::optional<TimingPlan> hot_plan_;  ///< of the hot times that are measured in addition to cold ones
  std::unique_ptr<CacheFlush> flush_;   ///< set while a timing measures cold times
  std::string step_;                    ///< as last reported
  bool broken_ = false;
};

}  // namespace peakmark
