#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "recorders/cupti/contexts.hpp"
#include "recorders/cupti/cuda_driver.hpp"
#include "recorders/cupti/driver_call.hpp"
#include "recorders/cupti/event_sink.hpp"
#include "recorders/cupti/live_allocations.hpp"
#include "recorders/cupti/physical_memory.hpp"
#include "recorders/cupti/pools.hpp"

namespace peakmark {

/// Turns the driver's calls into events. Allocations are told when the driver has answered, releases before
/// it is asked: another thread may be given the address at once. A release that the driver refuses is taken
/// back.
///
/// Thread-safe: each part (live memory, physical memory, pools, contexts) has a mutex of its own, taken for a
/// look-up only, never two at once, and never while the driver or the sink is called. Never throws: an event
/// that cannot be kept, for want of memory, makes the recording invalid, and the program goes on.
class CallRecorder {
 public:
  /// `finish_each`: waits for the stream after each enqueue (PEAKMARK_SYNC).
  CallRecorder(EventSink& sink, CudaDriver& driver, bool finish_each)
      : sink_(sink), driver_(driver), finish_each_(finish_each) {}

  void on_call(const DriverCall& call) noexcept;
  /// A module's image has been loaded into a context, or is about to be unloaded (CUPTI's resource
  /// callbacks).
  void on_module_loaded(std::uint32_t module, std::span<const std::byte> image, CUcontext context) noexcept;
  void on_module_unloading(std::uint32_t module) noexcept;
  /// The process ends. What the runtime releases from here on was never released by the program.
  void exit_watcher() { process_ends_ = true; }

 private:
  /// What a call took away when it began, to be given back should it fail.
  struct Withdrawn {
    std::vector<CudaAllocation> allocations;
    PhysicalMemory::Taken physical;
    std::uint64_t unknown_address = 0;
    std::uint64_t pool = 0;  ///< destroyed
    Pools::Info pool_info;
    std::optional<std::uint32_t> context;   ///< destroyed
    std::optional<std::uint32_t> detached;  ///< a context of which one use ended
    std::uint64_t green = 0;                ///< green context, destroyed
    std::optional<std::uint32_t> released;  ///< the device whose primary context lost a reference
  };

  void begin(const DriverCall& call);
  void end(const DriverCall& call);
  void end_allocation(const DriverCall& call, const AllocationRequest& request);
  void end_physical(const DriverCall& call);
  void end_context(const DriverCall& call);
  void end_enqueue(const DriverCall& call);
  void end_withdrawal(const DriverCall& call, Withdrawn& withdrawn);
  void give_back(const DriverCall& call, const Withdrawn& withdrawn);
  bool withdraw_free(const DriverCall& call, Withdrawn& withdrawn);
  bool withdraw_physical(const DriverCall& call, Withdrawn& withdrawn);
  bool withdraw_context(const DriverCall& call, Withdrawn& withdrawn);
  void withdraw(std::uint64_t address, Withdrawn& withdrawn);
  void withdraw(PhysicalMemory::Taken taken, Withdrawn& withdrawn);
  std::vector<CudaAllocation> end_memory(const std::function<bool(const CudaAllocation&)>& wanted);
  std::vector<CudaAllocation> end_memory_of_context(std::uint32_t context);
  std::vector<CudaAllocation> end_memory_of_primary(std::uint32_t device);
  void note_import(const Import& import);
  void tell_graph_allocation(std::uint64_t address, std::int64_t bytes);
  void set_pool(CudaAllocation& allocation);
  void sample_pool(std::uint64_t pool, std::uint32_t device);
  void sample_graphs(std::uint32_t device);
  void note_once(std::atomic<bool>& told, const char* text);
  void lose_event() noexcept;

  EventSink& sink_;
  CudaDriver& driver_;
  std::atomic<bool> finish_each_;
  LiveAllocations live_;
  PhysicalMemory physical_;
  Pools pools_;
  Contexts contexts_;
  std::mutex mutex_;                               // of the next
  std::unordered_set<std::uint64_t> not_counted_;  // addresses of graphs and imports: no unmatched releases
  std::atomic<bool> process_ends_{false};
  std::atomic<bool> graphs_seen_{false};
  std::atomic<bool> told_refused_release_{false};
  std::atomic<bool> told_unsized_{false};
  std::atomic<bool> told_context_{false};
  std::atomic<bool> told_import_{false};
  std::atomic<bool> told_wait_{false};
  std::atomic<bool> told_lost_{false};
};

}  // namespace peakmark
