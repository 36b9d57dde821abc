#pragma once

// A driver that is a table, and a sink that is a list: what the recorder's tests put at its two seams.
#include <cupti.h>

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/cupti/call_recorder.hpp"

namespace peakmark {

class FakeDriver : public CudaDriver {
 public:
  std::uint32_t device_of(CUcontext /*context*/, std::uint32_t context_id) override {
    return context_id * 10;
  }
  std::uint32_t id_of(CUcontext context) override {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(context));
  }
  bool is_capturing(CUstream stream) override { return capturing.contains(stream); }
  CUmemoryPool current_pool(std::uint32_t /*device*/) override { return pool; }
  std::optional<PoolUsage> pool_usage(CUmemoryPool asked) override {
    const auto found = usage.find(asked);
    if (found == usage.end()) return std::nullopt;
    return found->second;
  }
  std::optional<PoolUsage> graph_usage(std::uint32_t /*device*/) override { return graphs; }
  void synchronise(CUstream stream) override { synchronised.push_back(stream); }

  std::set<CUstream> capturing;
  CUmemoryPool pool = nullptr;
  std::map<CUmemoryPool, PoolUsage> usage;
  std::optional<PoolUsage> graphs;
  std::vector<CUstream> synchronised;
};

class EventList : public EventSink {
 public:
  struct Line {
    EventType type;
    std::uint64_t address = 0;
    std::int64_t bytes = 0;
    MemoryKind kind = MemoryKind::none;
    std::int64_t number = 0;  ///< result of a failure, used bytes of a pool, device of an allocation
    bool operator==(const Line&) const = default;
  };

  void allocation(const CudaAllocation& one) override {
    add({EventType::allocation, one.address, one.bytes, one.kind, one.device});
  }
  void failed_allocation(const CudaAllocation& one, std::int32_t result) override {
    add({EventType::failed_allocation, one.address, one.bytes, one.kind, result});
  }
  void release(std::uint64_t address) override { add({EventType::release, address}); }
  void pool(std::uint64_t pool, std::int64_t reserved_bytes, std::int64_t used_bytes) override {
    add({EventType::pool, pool, reserved_bytes, MemoryKind::none, used_bytes});
  }
  void note(const char* text) override {
    const std::scoped_lock lock(mutex_);
    notes.emplace_back(text);
  }

  std::vector<Line> lines;
  std::vector<std::string> notes;

 private:
  void add(const Line& line) {
    const std::scoped_lock lock(mutex_);
    lines.push_back(line);
  }
  std::mutex mutex_;
};

/// Makes the callbacks of a call: at its start, then, after `during`, at its end.
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

}  // namespace peakmark
