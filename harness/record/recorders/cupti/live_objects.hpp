#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/profile/event.hpp"
#include "record/recorders/cupti/event_sink.hpp"

namespace peakmark {

/// The live allocations, by address. Used to undo a release that the driver refused, and to release the
/// memory of a context when it ends. Divided into shards, each with its own lock, so that threads rarely
/// wait.
class LiveAllocations {
 public:
  void add(const CudaAllocation& allocation);
  /// Removes and returns the allocation; null if nothing is live at this address.
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

/// The existing memory pools, by handle. No handle of a destroyed pool is passed to the driver: `destroyed`,
/// called before the driver destroys the pool, waits until all `Use` objects of the pool have ended. A use is
/// a query of the driver, which does not wait for the device. Thread-safe; the lock is not held during a use.
class Pools {
 public:
  struct Info {
    MemoryKind kind = MemoryKind::pool_async;  ///< kind of its memory; `none`: unknown, because imported
    std::uint32_t device = 0;
  };

  class Use {
   public:
    Use(Pools& pools, std::uint64_t pool);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// Null if the pool is unknown or destroyed: then do not query the driver.
    [[nodiscard]] const std::optional<Info>& info() const { return info_; }

   private:
    Pools& pools_;
    std::uint64_t pool_;
    std::optional<Info> info_;
  };

  void created(std::uint64_t pool, Info info);
  /// Adds a pool that a query returned. If the program has not created it, it is one of the driver's own
  /// pools, which cannot be destroyed. A pool that another thread has destroyed meanwhile stays destroyed.
  /// Returns the known facts of the pool.
  std::optional<Info> seen(std::uint64_t pool, Info info);
  std::optional<Info> find(std::uint64_t pool);
  /// Returns true for the device's own pool, once `seen` has returned it. Takes no lock; such a pool needs no
  /// `Use`.
  [[nodiscard]] bool is_driver_pool(std::uint64_t pool, std::uint32_t device) const {
    return device < of_driver_.size() && of_driver_[device].load(std::memory_order_relaxed) == pool;
  }
  std::optional<Info> destroyed(std::uint64_t pool);

 private:
  struct Entry {
    Info info;
    int uses = 0;
    bool ending = false;
  };

  std::array<std::atomic<std::uint64_t>, 64> of_driver_{};  // by device
  std::mutex mutex_;                                        // guards the pools
  std::condition_variable unused_;
  std::unordered_map<std::uint64_t, Entry> pools_;
  std::unordered_set<std::uint64_t> destroyed_;
};

/// The contexts of the process, by CUPTI's ids. A context counts as primary unless the program has created
/// it, because the runtime can retain a primary context without a call that CUPTI reports. Thread-safe.
class Contexts {
 public:
  /// Notes a cuCtxCreate.
  void created(std::uint32_t context);
  [[nodiscard]] std::unordered_set<std::uint32_t> made_by_program();
  void destroyed(std::uint32_t context);

  /// Note a cuCtxAttach and a cuCtxDetach. `detached` returns true if this was the last use, which ends the
  /// context.
  void attached(std::uint32_t context);
  bool detached(std::uint32_t context);

  /// Notes a cuDevicePrimaryCtxRetain. If the device's previous primary context was a different one, it has
  /// ended, and its id is returned.
  std::optional<std::uint32_t> retained(std::uint32_t device, std::uint32_t context);

  /// Notes a new green context. It retains its device's primary context, and has no memory of its own.
  void green_created(std::uint64_t green, std::uint32_t device);
  /// Returns its device.
  std::optional<std::uint32_t> green_destroyed(std::uint64_t green);

 private:
  std::mutex mutex_;  // guards all members below
  std::unordered_set<std::uint32_t> created_;
  std::unordered_map<std::uint32_t, int> attached_;
  std::unordered_map<std::uint32_t, std::uint32_t> primary_;  // device → context
  std::unordered_map<std::uint64_t, std::uint32_t> greens_;   // green context → device
};

}  // namespace peakmark
