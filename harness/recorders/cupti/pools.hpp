#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "profile/event.hpp"

namespace peakmark {

/// The memory pools that are alive, by handle. No handle of a destroyed pool reaches the driver: a pool that
/// is alive stays so during a `Use`, since `destroyed`, called before the driver destroys it, waits for the
/// uses under way. A use is a query of the driver, which does not wait for the device. Thread-safe; the lock
/// is not held during a use.
class Pools {
 public:
  struct Info {
    MemoryKind kind = MemoryKind::pool_async;  ///< of its memory; `none`: imported, so unknown
    std::uint32_t device = 0;
  };

  class Use {
   public:
    Use(Pools& pools, std::uint64_t pool);
    ~Use();
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    /// Null where the pool is unknown, or destroyed: then the driver must not be asked.
    [[nodiscard]] const std::optional<Info>& info() const { return info_; }

   private:
    Pools& pools_;
    std::uint64_t pool_;
    std::optional<Info> info_;
  };

  void created(std::uint64_t pool, Info info);
  /// A pool that the driver names. Where the program has not created it, it is one of the driver's own, which
  /// cannot be destroyed; one that another thread has destroyed meanwhile stays destroyed. Returns what is
  /// known of it.
  std::optional<Info> seen(std::uint64_t pool, Info info);
  std::optional<Info> find(std::uint64_t pool);
  /// True for the device's own pool once it was seen. Takes no lock; such a pool needs no `Use`.
  [[nodiscard]] bool is_of_driver(std::uint64_t pool, std::uint32_t device) const {
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
  std::mutex mutex_;                                        // of the pools
  std::condition_variable unused_;
  std::unordered_map<std::uint64_t, Entry> pools_;
  std::unordered_set<std::uint64_t> destroyed_;
};

}  // namespace peakmark
