#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace peakmark {

/// What the recorder knows of contexts, by CUPTI's ids. A context is primary unless the program has created
/// it: the runtime may retain a primary context without a call that CUPTI shows. Thread-safe.
class Contexts {
 public:
  /// cuCtxCreate.
  void created(std::uint32_t context);
  [[nodiscard]] std::unordered_set<std::uint32_t> made_by_program();
  void destroyed(std::uint32_t context);

  /// cuCtxAttach and cuCtxDetach: `detached` returns true for the use that ends the context.
  void attached(std::uint32_t context);
  bool detached(std::uint32_t context);

  /// cuDevicePrimaryCtxRetain. Returns the id of the context before it, if that was another one: it has
  /// ended.
  std::optional<std::uint32_t> retained(std::uint32_t device, std::uint32_t context);

  /// A green context retains its device's primary context, and is no context that owns memory.
  void green_created(std::uint64_t green, std::uint32_t device);
  /// Returns its device.
  std::optional<std::uint32_t> green_destroyed(std::uint64_t green);

 private:
  std::mutex mutex_;  // of all that follows
  std::unordered_set<std::uint32_t> created_;
  std::unordered_map<std::uint32_t, int> attached_;
  std::unordered_map<std::uint32_t, std::uint32_t> primary_;  // device → context
  std::unordered_map<std::uint64_t, std::uint32_t> greens_;   // green context → device
};

}  // namespace peakmark
