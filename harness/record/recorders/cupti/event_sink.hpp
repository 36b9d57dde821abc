#pragma once

#include <cstdint>
#include <cstdio>

#include "record/profile/event.hpp"
#include "record/recorders/profile_writer.hpp"
#include "record/recorders/report_error.hpp"

namespace peakmark {

/// An allocation as the recorder tracks it.
struct CudaAllocation {
  std::uint64_t address = 0;
  std::int64_t bytes = 0;
  MemoryKind kind = MemoryKind::none;
  std::uint64_t pool = 0;     ///< its CUmemoryPool; 0: none
  std::uint32_t device = 0;   ///< ordinal
  std::uint32_t context = 0;  ///< CUPTI's id of the context
  bool in_context = true;     ///< it ends with the context; not so for memory of pools and of cuMemCreate
};

/// Receives the events of CallRecorder: the profile, or a list in a test. Called by any thread.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void allocation(const CudaAllocation& allocation) = 0;
  /// `limit`: if it is not the driver's, the allocation would have succeeded, or may have, without this
  /// limit.
  virtual void failed_allocation(const CudaAllocation& wanted, std::int32_t result, RefusedBy limit) = 0;
  virtual void release(std::uint64_t address) = 0;
  /// The driver refused the release of `allocation`, whose release event is already written: the memory is
  /// live again.
  virtual void refused_release(const CudaAllocation& allocation, std::int32_t result) = 0;
  virtual void pool(std::uint64_t pool, std::int64_t reserved_bytes, std::int64_t used_bytes) = 0;
  virtual void note(const char* text) = 0;
  /// Writes the name of a device; called once more than one device has memory.
  virtual void device(std::uint32_t ordinal, const char* name) = 0;
  /// The recording is incomplete from here on. Must not allocate.
  virtual void invalid(const char* reason) = 0;
};

/// Writes events into a profile.
class ProfileSink : public EventSink {
 public:
  explicit ProfileSink(ProfileWriter& writer) : writer_(writer) {}
  void allocation(const CudaAllocation& one) override {
    writer_.allocation(one.address, one.bytes, one.kind, details(one));
  }
  void failed_allocation(const CudaAllocation& one, std::int32_t result, RefusedBy limit) override {
    ProfileWriter::Details of_request = details(one);
    if (limit != RefusedBy::driver) of_request.auxiliary = static_cast<std::int64_t>(limit);
    writer_.failed_allocation(one.bytes, one.kind, result, of_request);
  }
  void release(std::uint64_t address) override { writer_.release(address); }
  void refused_release(const CudaAllocation& one, std::int32_t result) override {
    ProfileWriter::Details with_result = details(one);
    with_result.result = result;
    writer_.allocation(one.address, one.bytes, one.kind, with_result);
  }
  void pool(std::uint64_t pool, std::int64_t reserved_bytes, std::int64_t used_bytes) override {
    writer_.pool(pool, reserved_bytes, used_bytes);
  }
  void note(const char* text) override { writer_.note(text); }
  void device(std::uint32_t ordinal, const char* name) override {
    char text[320];
    std::snprintf(text, sizeof(text), "%u CUDA: %s\n", ordinal, name);
    writer_.device(ordinal, text);
  }
  void invalid(const char* reason) override {
    char text[320];
    std::snprintf(text, sizeof(text), "%s %s", kInvalidNote.data(), reason);
    writer_.note(text);
    std::snprintf(text, sizeof(text), "the CUDA recording is incomplete: %s", reason);
    report_error(text);
  }

 private:
  static ProfileWriter::Details details(const CudaAllocation& one) {
    return {.auxiliary = static_cast<std::int64_t>(one.pool), .device = one.device};
  }
  ProfileWriter& writer_;
};

}  // namespace peakmark
