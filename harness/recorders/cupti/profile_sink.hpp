#pragma once

#include <cstdio>

#include "recorders/cupti/event_sink.hpp"
#include "recorders/profile_writer.hpp"
#include "recorders/trouble.hpp"

namespace peakmark {

/// Tells a profile.
class ProfileSink : public EventSink {
 public:
  explicit ProfileSink(ProfileWriter& writer) : writer_(writer) {}
  void allocation(const CudaAllocation& one) override {
    writer_.allocation(one.address, one.bytes, one.kind, details(one));
  }
  void failed_allocation(const CudaAllocation& one, std::int32_t result) override {
    writer_.failed_allocation(one.bytes, one.kind, result, details(one));
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
  void invalid(const char* reason) override {
    char text[320];
    std::snprintf(text, sizeof(text), "%s %s", kInvalidNote.data(), reason);
    writer_.note(text);
    std::snprintf(text, sizeof(text), "CUDA is not recorded to the end: %s", reason);
    report_error(text);
  }

 private:
  static ProfileWriter::Details details(const CudaAllocation& one) {
    return {.auxiliary = static_cast<std::int64_t>(one.pool), .device = one.device};
  }
  ProfileWriter& writer_;
};

}  // namespace peakmark
