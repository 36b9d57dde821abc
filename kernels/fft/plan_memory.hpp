#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "device/device.hpp"

namespace peakmark {

/// The memory of a VkFFT plan. What the library asks its driver for while a plan is made comes from here
/// instead, as arrays with names; so the bytes are known, and `dry` allocation_log the same.
class PlanMemory {
 public:
  explicit PlanMemory(Device* device) : device_(device) {}

  enum class Use : std::uint8_t { table, work };
  /// Called from the library's code, which no exception may cross: 0 where there is no memory, and `rethrow`
  /// tells later. `data`, where there is any, is what the memory is to hold.
  std::uint64_t allocate(std::size_t bytes, Use use, const void* data = nullptr) noexcept;
  void release(std::uint64_t handle) noexcept;
  /// All of what `allocate` gave. False where it cannot be written; `rethrow` tells why.
  bool write(std::uint64_t handle, const void* data, std::size_t bytes) noexcept;

  /// Throws what they ran into.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  /// What the library has compiled for the device of this plan.
  [[nodiscard]] CompiledPrograms& programs() const { return device_->library_programs(); }

  [[nodiscard]] Size table_bytes() const { return table_bytes_; }
  [[nodiscard]] Size work_bytes() const { return work_bytes_; }

  /// The memory of the plan that this thread is making or giving back.
  static PlanMemory*& current();

 private:
  Device* device_;
  std::exception_ptr failure_;
  Size table_bytes_ = 0, work_bytes_ = 0;
  std::vector<Array> arrays_;
};

/// While it lives, the library's allocations of this thread go to `memory`.
class PlanMemoryScope {
 public:
  explicit PlanMemoryScope(PlanMemory& memory) : before_(PlanMemory::current()) {
    PlanMemory::current() = &memory;
  }
  ~PlanMemoryScope() { PlanMemory::current() = before_; }
  PlanMemoryScope(const PlanMemoryScope&) = delete;
  PlanMemoryScope& operator=(const PlanMemoryScope&) = delete;

 private:
  PlanMemory* before_;
};

}  // namespace peakmark
