#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "record/recorders/cupti/cuda_driver.hpp"
#include "record/recorders/cupti/device_budget.hpp"
#include "record/recorders/cupti/driver_call.hpp"
#include "record/recorders/cupti/event_sink.hpp"
#include "record/recorders/cupti/live_objects.hpp"
#include "record/recorders/cupti/physical_memory.hpp"

namespace peakmark {

/// Converts the driver's calls to events. Writes an allocation after the driver has returned, and a release
/// before the driver is called, because another thread may get the address at once. A release that the driver
/// refuses is undone.
///
/// Thread-safe: each part (live allocations, physical memory, pools, contexts) has its own mutex, held only
/// for a lookup, never two at once, and never while the driver or the sink is called. Never throws: if memory
/// for an event is missing, the recording becomes invalid and the program continues.
///
/// Path of an allocation: cuMemAlloc of the program → CUPTI's callback (Recorder::on_callback) → on_call() →
/// decode_allocation() → end_allocation() → EventSink::allocation(), an event in the profile.
class CallRecorder {
 public:
  /// `finish_each`: waits for the stream after each enqueue (PEAKMARK_SYNC). `budget`: of the devices;
  /// `refused`: refuses allocations; both may be null.
  CallRecorder(EventSink& sink, CudaDriver& driver, bool finish_each, DeviceBudget* budget = nullptr,
               DriverRefusal* refused = nullptr)
      : sink_(sink), driver_(driver), budget_(budget), refused_(refused), finish_each_(finish_each) {}

  void on_call(const DriverCall& call) noexcept;
  /// A module was loaded into a context, or is about to be unloaded (CUPTI's resource callbacks).
  void on_module_loaded(std::uint32_t module, std::span<const std::byte> image, CUcontext context) noexcept;
  void on_module_unloading(std::uint32_t module) noexcept;
  /// The process exits. From here on, releases by the runtime are not the program's.
  void begin_process_exit() { is_process_exiting_ = true; }

 private:
  /// What a call released at its start; undone if the call fails.
  struct Withdrawn {
    std::vector<CudaAllocation> allocations;
    PhysicalMemory::Taken physical;
    std::uint64_t unknown_address = 0;
    std::uint64_t pool = 0;  ///< destroyed
    Pools::Info pool_info;
    std::optional<std::uint32_t> context;   ///< destroyed
    std::optional<std::uint32_t> detached;  ///< a context that lost one use
    std::uint64_t green = 0;                ///< green context, destroyed
    std::optional<std::uint32_t> released;  ///< the device whose primary context lost a reference
  };

  void begin(const DriverCall& call);
  void apply_budget(const DriverCall& call);
  void begin_refusal(const DriverCall& call);
  void write_allocation(const CudaAllocation& allocation);
  void note_device(std::uint32_t device);
  void write_name(std::uint32_t device);
  void end(const DriverCall& call);
  void end_allocation(const DriverCall& call, const AllocationRequest& request);
  void end_physical(const DriverCall& call);
  void end_context(const DriverCall& call);
  void end_enqueue(const DriverCall& call);
  void end_withdrawal(const DriverCall& call, Withdrawn& withdrawn);
  void undo(const DriverCall& call, const Withdrawn& withdrawn);
  bool withdraw_free(const DriverCall& call, Withdrawn& withdrawn);
  bool withdraw_physical(const DriverCall& call, Withdrawn& withdrawn);
  bool withdraw_context(const DriverCall& call, Withdrawn& withdrawn);
  void withdraw(std::uint64_t address, Withdrawn& withdrawn);
  void withdraw(PhysicalMemory::Taken taken, Withdrawn& withdrawn);
  std::vector<CudaAllocation> end_memory(const std::function<bool(const CudaAllocation&)>& wanted);
  std::vector<CudaAllocation> end_memory_of_context(std::uint32_t context);
  std::vector<CudaAllocation> end_memory_of_primary(std::uint32_t device);
  void note_import(const Import& import);
  void note_graph_allocation(std::uint64_t address, std::int64_t bytes);
  void set_pool(CudaAllocation& allocation);
  void sample_pool(std::uint64_t pool, std::uint32_t device);
  void note_unknown_pool(std::uint64_t pool);
  void sample_graphs(std::uint32_t device);
  void note_once(std::atomic<bool>& is_noted, const char* text);
  void lose_event() noexcept;

  EventSink& sink_;
  CudaDriver& driver_;
  DeviceBudget* budget_;
  DriverRefusal* refused_;
  std::atomic<bool> finish_each_;
  LiveAllocations live_;
  PhysicalMemory physical_;
  Pools pools_;
  Contexts contexts_;
  std::mutex mutex_;  // guards not_counted_
  // Addresses of graphs and imports: their releases have no allocation.
  std::unordered_set<std::uint64_t> not_counted_;
  // Devices with memory, as bits, and the first of them: with a single device, no names are written.
  static constexpr std::uint32_t kNoDevice = UINT32_MAX;
  std::atomic<std::uint64_t> used_devices_{0};
  std::atomic<std::uint32_t> first_device_{kNoDevice};
  std::atomic<bool> has_named_first_{false};
  std::atomic<bool> is_process_exiting_{false};
  std::atomic<bool> graphs_seen_{false};
  std::atomic<bool> noted_refused_release_{false};
  std::atomic<bool> noted_unsized_{false};
  std::atomic<bool> noted_unknown_pool_{false};
  std::atomic<bool> noted_context_{false};
  std::atomic<bool> noted_import_{false};
  std::atomic<bool> noted_wait_{false};
  std::atomic<bool> noted_lost_{false};
};

}  // namespace peakmark
