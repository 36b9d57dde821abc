#pragma once

#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include "peakmark/worker/device.hpp"

namespace peakmark {

/// The memory of a VkFFT plan. The library's allocations while it makes a plan are served from here, as
/// arrays with names, so that their bytes are known and `dry` records the same.
class PlanMemory {
 public:
  explicit PlanMemory(Device* device) : device_(device) {}

  enum class Use : std::uint8_t { table, work };
  /// Called by the library, through which no exception may pass. Returns 0 if there is no memory, and
  /// `rethrow` throws the error later. `data` is the content, or null.
  std::uintptr_t allocate(std::size_t bytes, Use use, const void* data = nullptr) noexcept;
  void release(std::uintptr_t handle) noexcept;
  /// Writes all of an allocation. Returns false if that fails; `rethrow` then throws the error.
  bool write(std::uintptr_t handle, const void* data, std::size_t bytes) noexcept;

  /// Keeps an error of another function that the library calls, for `rethrow`.
  void fail(std::exception_ptr error) noexcept { failure_ = std::move(error); }

  /// Throws the last error of the functions above; returns if there is none.
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  /// Returns the device, which keeps the programs that the library has compiled for it.
  [[nodiscard]] Device& device() const { return *device_; }

  [[nodiscard]] Size table_bytes() const { return table_bytes_; }
  [[nodiscard]] Size work_bytes() const { return work_bytes_; }

  /// The memory of the plan that this thread is making or releasing.
  static PlanMemory*& current();

 private:
  Device* device_;
  std::exception_ptr failure_;
  Size table_bytes_ = 0, work_bytes_ = 0;
  std::vector<DeviceArray> arrays_;
};

/// During its lifetime, the library's allocations of this thread go to `memory`.
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
