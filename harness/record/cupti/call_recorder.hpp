#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/cupti/cuda_driver.hpp"
#include "record/cupti/driver_call.hpp"
#include "record/cupti/event_sink.hpp"
#include "record/cupti/live_allocations.hpp"
#include "record/cupti/physical_memory.hpp"

namespace peakmark {

/// Turns the driver's calls into events. Allocations are told when the driver has answered, releases before
/// it is asked: another thread may be given the address at once. A release that the driver refuses is taken
/// back by telling the allocation again. Thread-safe; never throws; holds no lock while it asks the driver.
class CallRecorder {
 public:
  /// `finish_each`: waits for the stream after each enqueue (PEAKMARK_SYNC).
  CallRecorder(EventSink& sink, CudaDriver& driver, bool finish_each)
      : sink_(sink), driver_(driver), finish_each_(finish_each) {}

  void on_call(const DriverCall& call) noexcept;

 private:
  /// What a call took away when it began, to be given back should it fail.
  struct Withdrawn {
    std::vector<CudaAllocation> allocations;
    std::vector<PhysicalMemory::Mapping> mappings;
    std::uint64_t released_handle = 0;
    std::uint64_t unknown_address = 0;
  };

  void begin(const DriverCall& call);
  void end(const DriverCall& call);
  void end_allocation(const DriverCall& call, const AllocationRequest& request);
  void end_withdrawal(const DriverCall& call, Withdrawn& withdrawn);
  bool withdraw_context(const DriverCall& call, Withdrawn& withdrawn);
  void withdraw(std::uint64_t address, Withdrawn& withdrawn);
  void tell_graph_allocation(std::uint64_t address, std::int64_t bytes);
  void sample_pool(std::uint64_t pool);
  void sample_graphs(std::uint32_t device);
  void note_once(std::atomic<bool>& told, const char* text);
  MemoryKind kind_of_pool(std::uint64_t pool);

  EventSink& sink_;
  CudaDriver& driver_;
  bool finish_each_;
  LiveAllocations live_;
  PhysicalMemory physical_;
  std::mutex mutex_;                                             // of the two below
  std::unordered_map<std::uint64_t, MemoryKind> unusual_pools_;  // pools that are not of device memory
  std::unordered_set<std::uint64_t> graph_addresses_;
  std::atomic<bool> graphs_seen_{false};
  std::atomic<bool> told_refused_release_{false};
  std::atomic<bool> told_unsized_{false};
  std::atomic<bool> told_context_{false};
};

}  // namespace peakmark
