#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "profile/event_source.hpp"
#include "runfile/observation.hpp"
#include "show/recorded_sequence.hpp"
#include "worker/pass_record.hpp"
#include "worker/timing.hpp"
#include "worker/variant.hpp"

namespace peakmark {

/// Which times of a case are taken.
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
  ClockSource* clocks = nullptr;  ///< null: clocks of the device are unknown
  /// How long late destructors may keep memory before it counts as leaked. Only late cases wait.
  std::chrono::milliseconds late_release{100};
  bool sequences = false;             ///< keep the allocations of the memory pass
  int repeat_calls = 0;               ///< further calls that find leaks of each call; 0: none
  bool verify = true;                 ///< the result of the first memory pass
  CallChains* call_chains = nullptr;  ///< of the event source; null: it records no call stacks
  /// Called before each step, so that a crash can be attributed to a step. May be empty.
  std::function<void(std::string_view)> report_step = nullptr;
  /// Called with true before the timed calls and with false after them. May be empty.
  std::function<void(bool)> mark_timed = nullptr;
};

/// One case on one device: the memory pass, twice, with verification, then timings, then estimators.
/// Nothing that goes wrong in a case is thrown: it becomes the outcome of the observation.
class Trial {
 public:
  /// `events`: what records this device's allocations; null leaves the memory figures unknown.
  Trial(Device& device, EventSource* events, const RegisteredVariant& variant, const Case& sweep_case,
        std::string name, const TrialOptions& options);

  /// The memory pass and what belongs to it. Made once, before any timing.
  void measure_memory();

  /// One timing on an instance of its own, added to the observation; made again as the first was, so that
  /// repetitions are alike. Null where there is none to be had: on `dry`, or the case has already failed.
  std::optional<Timing> measure_time(KernelTracer* tracer = nullptr);

  /// The other road, for a loop that decides for itself how long it runs: an instance ready to be called
  /// (null where there is nothing to be timed), ns of one call of it (null: it failed), and what came of it.
  std::unique_ptr<CaseInstance> instance_to_time();
  std::optional<double> time_one_call(CaseInstance& instance);
  void add_block(std::vector<double> samples_ns);

  /// Adds the variant's estimators to the observation, none of them asked yet.
  void list_estimators();
  /// Asks them, and adds their answers to the observation. Do so last, when the observation is written: an
  /// estimator that ends or blocks this process then costs nothing that was measured. `answered`: called for
  /// each answer as it comes.
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
  std::optional<MemoryPass> memory_pass(bool verify);
  void run_steps(CaseInstance& instance, bool verify);
  void mark(std::string_view phase);
  void report(std::string_view step) const;
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

  Device& device_;
  EventSource* events_;
  const RegisteredVariant& variant_;
  TrialOptions options_;
  Observation observation_;
  std::optional<TimingPlan> plan_;
  std::optional<TimingPlan> hot_plan_;  ///< of the hot times in addition to cold ones
  std::unique_ptr<CacheFlush> flush_;   ///< while a timing takes cold times
  bool broken_ = false;
};

}  // namespace peakmark
