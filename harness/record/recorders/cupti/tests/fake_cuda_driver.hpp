#pragma once

// Fakes for unit tests of CallRecorder: a CudaDriver with settable answers, and an EventSink that is a list.
#include <cupti.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "record/recorders/cupti/call_recorder.hpp"

namespace peakmark {

class FakeDriver : public CudaDriver {
 public:
  std::uint32_t device_ordinal(CUcontext /*context*/, std::uint32_t context_id) override {
    return device ? *device : context_id * 10;
  }
  std::uint32_t cupti_id(CUcontext context) override {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(context));
  }
  void name_device(std::uint32_t ordinal, std::span<char> name) override {
    std::snprintf(name.data(), name.size(), "card %u", ordinal);
  }
  bool is_capturing(CUstream stream) override { return capturing.contains(stream); }
  CUmemoryPool current_pool(std::uint32_t /*device*/) override { return pool; }
  bool is_on_host(CUdeviceptr address) override { return on_host.contains(address); }
  std::optional<bool> primary_is_active(std::uint32_t device) override { return active.contains(device); }
  std::optional<PoolUsage> pool_usage(CUmemoryPool asked) override {
    EXPECT_FALSE(destroyed.contains(asked)) << "a strict driver aborts here";
    if (const auto other_threads = while_asked) other_threads();
    const auto found = usage.find(asked);
    if (found == usage.end()) return std::nullopt;
    return found->second;
  }
  std::optional<PoolUsage> graph_usage(std::uint32_t /*device*/) override { return graphs; }
  bool synchronise(CUstream stream) override {
    synchronised.push_back(stream);
    return !busy.contains(stream);
  }
  std::optional<std::int64_t> free_bytes() override { return free; }
  std::optional<std::int64_t> physical_granularity(std::uint32_t /*device*/) override { return granularity; }
  std::optional<std::uint64_t> occupy(std::uint32_t on, std::int64_t bytes) override {
    EXPECT_EQ(bytes % *granularity, 0);
    occupied.emplace_back(on, bytes);
    if (bytes > max_piece || bytes > *free) return std::nullopt;
    return take(*free, bytes);
  }
  void give_back(std::uint64_t physical) override { *free += taken.extract(physical).mapped(); }
  std::optional<std::uint64_t> allocate(std::int64_t bytes) override {
    if (bytes > small_free) return std::nullopt;
    return take(small_free, bytes);
  }
  void release(std::uint64_t address) override { small_free += taken.extract(address).mapped(); }

  std::optional<std::uint32_t> device;  ///< device of every context; null: ten times the context's id
  std::set<CUstream> capturing;
  std::set<CUstream> busy;         ///< never idle
  std::set<std::uint32_t> active;  ///< devices whose primary context is retained
  std::set<CUdeviceptr> on_host;
  std::set<CUmemoryPool> destroyed;  ///< must not be queried
  CUmemoryPool pool = nullptr;
  std::map<CUmemoryPool, PoolUsage> usage;
  std::function<void()> while_asked;  ///< called during the next query of a pool
  std::optional<PoolUsage> graphs;
  std::vector<CUstream> synchronised;
  std::optional<std::int64_t> free;
  std::optional<std::int64_t> granularity = 100;
  std::int64_t max_piece = INT64_MAX;  ///< maximum size of one piece of free memory
  std::int64_t small_free = 0;         ///< free memory for `allocate`, in addition to `free`
  std::vector<std::pair<std::uint32_t, std::int64_t>> occupied;  ///< all requests, refused or not
  std::map<std::uint64_t, std::int64_t> taken;                   ///< bytes by handle or address

 private:
  std::uint64_t take(std::int64_t& from, std::int64_t bytes) {
    from -= bytes;
    taken.emplace(++last_taken_, bytes);
    return last_taken_;
  }
  std::uint64_t last_taken_ = 0;
};

class EventList : public EventSink {
 public:
  struct Line {
    EventType type;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    MemoryKind kind = MemoryKind::none;
    std::int64_t number = 0;   ///< result of a failure, used bytes of a pool, or device of an allocation
    std::int32_t refused = 0;  ///< error of the release, if an allocation is live again
    bool operator==(const Line&) const = default;
  };

  void allocation(const CudaAllocation& one) override {
    add({EventType::allocation, one.address, one.bytes, one.kind, one.device});
  }
  void failed_allocation(const CudaAllocation& one, std::int32_t result, RefusedBy limit) override {
    add({EventType::failed_allocation, one.address, one.bytes, one.kind, result});
    if (limit == RefusedBy::budget) ++refused_by_budget;
    if (limit == RefusedBy::max_allocation) ++refused_by_max_allocation;
  }
  void release(std::uint64_t address) override { add({EventType::release, address}); }
  void refused_release(const CudaAllocation& one, std::int32_t result) override {
    add({EventType::allocation, one.address, one.bytes, one.kind, one.device, result});
  }
  void pool(std::uint64_t pool, std::int64_t reserved_bytes, std::int64_t used_bytes) override {
    add({EventType::pool, pool, reserved_bytes, MemoryKind::none, used_bytes});
  }
  void device(std::uint32_t ordinal, const char* name) override { devices.emplace(ordinal, name); }
  void note(const char* text) override {
    const std::scoped_lock lock(mutex_);
    notes.emplace_back(text);
  }

  void invalid(const char* reason) override { note((std::string(kInvalidNote) + " " + reason).c_str()); }

  /// Returns peak and live bytes of the memory that counts into the peak, as a reader of the profile computes
  /// them.
  struct Sums {
    std::int64_t peak = 0;
    std::int64_t live = 0;
    bool operator==(const Sums&) const = default;
  };
  [[nodiscard]] Sums sums() const {
    std::map<std::uint64_t, std::int64_t> live;
    Sums result;
    for (const Line& line : lines) {
      if (line.type != EventType::allocation && line.type != EventType::release) continue;
      result.live -= std::exchange(live[line.address], 0);
      if (line.type == EventType::allocation && counts_into_peak(line.kind)) {
        live[line.address] = line.bytes;
        result.live += line.bytes;
      }
      result.peak = std::max(result.peak, result.live);
    }
    return result;
  }

  std::vector<Line> lines;
  std::vector<std::string> notes;
  std::map<std::uint32_t, std::string> devices;
  int refused_by_budget = 0;
  int refused_by_max_allocation = 0;

 private:
  void add(const Line& line) {
    const std::scoped_lock lock(mutex_);
    lines.push_back(line);
  }
  std::mutex mutex_;
};

/// Simulates the callbacks of a call: at its start and, after `during`, at its end.
template <typename Parameters>
void call(
    CallRecorder& recorder, CUpti_CallbackId id, const Parameters& parameters, CUresult result = CUDA_SUCCESS,
    const std::function<void()>& during = [] {}, std::uint32_t context_id = 0) {
  std::uint64_t correlation = 0xdeadbeef;
  DriverCall one{.id = id,
                 .entering = true,
                 .parameters = &parameters,
                 .result = CUDA_SUCCESS,
                 .correlation = &correlation,
                 .context = nullptr,
                 .context_id = context_id};
  recorder.on_call(one);
  during();
  one.entering = false;
  one.result = result;
  recorder.on_call(one);
}

#define ID(name) CUPTI_DRIVER_TRACE_CBID_##name

template <typename Handle>
Handle handle(std::uint64_t value) {
  return reinterpret_cast<Handle>(value);
}

/// A program that calls the driver, with the calls that most tests need.
class RecordedProgram {
 public:
  EventList events_;
  FakeDriver driver_;
  CallRecorder recorder_{events_, driver_, false};

  template <typename Parameters>
  void in_context(std::uint32_t context, CUpti_CallbackId id, const Parameters& parameters,
                  CUresult result = CUDA_SUCCESS) {
    call(
        recorder_, id, parameters, result, [] {}, context);
  }
  void allocate(CUdeviceptr address, std::size_t bytes, std::uint32_t context_id = 0) {
    in_context(context_id, ID(cuMemAlloc_v2), cuMemAlloc_v2_params{&address, bytes});
  }
  void free(CUdeviceptr address, CUresult result = CUDA_SUCCESS) {
    call(recorder_, ID(cuMemFree_v2), cuMemFree_v2_params{address}, result);
  }
  void allocate_async(CUdeviceptr address, std::size_t bytes, std::uint32_t context_id = 0) {
    in_context(context_id, ID(cuMemAllocAsync), cuMemAllocAsync_params{&address, bytes, nullptr});
  }
  void allocate_from(CUmemoryPool pool, CUdeviceptr address, std::size_t bytes) {
    call(recorder_, ID(cuMemAllocFromPoolAsync),
         cuMemAllocFromPoolAsync_params{&address, bytes, pool, nullptr});
  }
  void free_async(CUdeviceptr address, CUresult result = CUDA_SUCCESS) {
    call(recorder_, ID(cuMemFreeAsync), cuMemFreeAsync_params{address, nullptr}, result);
  }
};

}  // namespace peakmark
