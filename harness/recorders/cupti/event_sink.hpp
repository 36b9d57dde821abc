#pragma once

#include <cstdint>

#include "profile/event.hpp"

namespace peakmark {

/// An allocation as the recorder knows it.
struct CudaAllocation {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  MemoryKind kind = MemoryKind::none;
  std::uint64_t pool = 0;     ///< CUmemoryPool it came from; 0: none
  std::uint32_t device = 0;   ///< ordinal
  std::uint32_t context = 0;  ///< CUPTI's id of the context
  bool in_context = true;     ///< it ends with the context; memory of pools and of cuMemCreate does not
};

/// Where the recorder tells what it saw: the profile, or a list in a test. Called by any thread.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void allocation(const CudaAllocation& allocation) = 0;
  virtual void failed_allocation(const CudaAllocation& wanted, std::int32_t result) = 0;
  virtual void release(std::uint64_t address) = 0;
  /// The driver refused the release of `allocation`, which has its event already: the memory is still live.
  virtual void refused_release(const CudaAllocation& allocation, std::int32_t result) = 0;
  virtual void pool(std::uint64_t pool, std::int64_t reserved_bytes, std::int64_t used_bytes) = 0;
  virtual void note(const char* text) = 0;
  /// The recording cannot be trusted from here on. Allocates nothing.
  virtual void invalid(const char* reason) = 0;
};

}  // namespace peakmark
