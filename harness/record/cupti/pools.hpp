#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "record/event.hpp"

namespace peakmark {

/// The memory pools that are alive, by handle. No handle of a destroyed pool reaches the driver: `use` runs
/// only for a pool that is alive, and `destroyed`, called before the driver destroys it, waits for the uses
/// under way. A use is a query of the driver, which does not wait for the device. Thread-safe; the lock is
/// not held during a use.
class Pools {
 public:
  struct Info {
    MemoryKind kind = MemoryKind::pool_async;  ///< of its memory; `none`: imported, so unknown
    std::uint32_t device = 0;
  };

  void created(std::uint64_t pool, Info info);
  /// A pool that the driver names. Where the program has not created it, it is one of the driver's own, which
  /// cannot be destroyed; one that another thread has destroyed meanwhile stays destroyed.
  void seen(std::uint64_t pool, Info info);
  std::optional<Info> find(std::uint64_t pool);
  /// Calls `query` if the pool is alive.
  void use(std::uint64_t pool, const std::function<void()>& query);
  std::optional<Info> destroyed(std::uint64_t pool);

 private:
  struct Entry {
    Info info;
    int uses = 0;
    bool ending = false;
  };
  struct Use {
    ~Use() { pools.end_use(pool); }
    Pools& pools;
    std::uint64_t pool;
  };
  void end_use(std::uint64_t pool);

  std::mutex mutex_;  // of the pools
  std::condition_variable unused_;
  std::unordered_map<std::uint64_t, Entry> pools_;
  std::unordered_set<std::uint64_t> destroyed_;
};

}  // namespace peakmark
