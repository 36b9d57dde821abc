#pragma once

#include <array>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "recorders/cupti/event_sink.hpp"

namespace peakmark {

/// What is live, by address: so that a release that the driver refused can be taken back, and a context's end
/// releases what it held. In shards, each with a lock held only for a look-up: threads seldom meet.
class LiveAllocations {
 public:
  void add(const CudaAllocation& allocation);
  /// Removes and returns it; null when nothing is live at this address.
  std::optional<CudaAllocation> take(std::uint64_t address);
  std::vector<CudaAllocation> take_where(const std::function<bool(const CudaAllocation&)>& wanted);

 private:
  struct Shard {
    std::mutex mutex;
    std::unordered_map<std::uint64_t, CudaAllocation> live;
  };
  static constexpr std::size_t kShards = 32;
  Shard& shard(std::uint64_t address);

  std::array<Shard, kShards> shards_;
};

}  // namespace peakmark
