#include "recorders/cupti/activity.hpp"

#include <time.h>

#include <cstdlib>

namespace peakmark {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

Activity* the_one = nullptr;

std::uint64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// Each release appends to records: the kinds and the fields that the recorder reads are where the headers of
// 13.0 have them in all of these (checked in the headers of 12.0, 12.4, 12.9 and 13.0 to 13.5).
bool has_known_records(std::uint32_t version) {
  constexpr std::uint32_t kCuda120 = 18;
  constexpr std::uint32_t kCuda129 = 28;
  return (version >= kCuda120 && version <= kCuda129) || (version >= 130'000 && version < 130'600);
}

}  // namespace

void Activity::request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;  // without room CUPTI drops records and counts them
  *max_records = 0;
}

void Activity::complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                        std::size_t valid_bytes) {
  if (the_one != nullptr) {
    the_one->consume(buffer, valid_bytes);
    std::size_t dropped = 0;
    if (the_one->cupti_->dropped_records(context, stream, &dropped) == CUPTI_SUCCESS)
      the_one->dropped_ += dropped;
  }
  std::free(buffer);
}

void Activity::consume(std::uint8_t* buffer, std::size_t valid_bytes) {
  const std::scoped_lock lock(mutex_);
  CUpti_Activity* record = nullptr;
  while (valid_bytes > 0 && cupti_->next_record(buffer, valid_bytes, &record) == CUPTI_SUCCESS)
    consumer_(*record);
}

void Activity::between_records(const std::function<void()>& use) {
  const std::scoped_lock lock(mutex_);
  use();
}

bool Activity::open(const CuptiLibrary& cupti, Consumer consumer, std::string& reason) {
  std::uint32_t version = 0;
  cupti.get_version(&version);
  if (!has_known_records(version)) {
    reason = "activity records are known of CUPTI 12.0 to 13.5; this process has another release, " +
             std::to_string(version);
    return false;
  }
  if (cupti.register_buffers == nullptr || cupti.register_clock == nullptr ||
      cupti.enable_activity == nullptr || cupti.disable_activity == nullptr || cupti.flush_all == nullptr ||
      cupti.next_record == nullptr || cupti.dropped_records == nullptr || cupti.set_attribute == nullptr) {
    reason = "this libcupti lacks the functions of activity records";
    return false;
  }
  cupti_ = &cupti;
  consumer_ = std::move(consumer);
  // CUPTI's own buffers in host memory: on the device they would stand in the resident bytes. Not every card
  // can do that; then they lie on the device.
  std::uint8_t pinned = 1;
  std::size_t size = sizeof(pinned);
  cupti.set_attribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &size, &pinned);
  CUptiResult result = cupti.register_clock(monotonic_ns);
  if (result == CUPTI_SUCCESS) {
    the_one = this;
    result = cupti.register_buffers(request, complete);
  }
  if (result != CUPTI_SUCCESS) reason = "CUPTI takes no buffers: " + cupti.text(result);
  return result == CUPTI_SUCCESS;
}

bool Activity::enable(CUpti_ActivityKind kind, std::string& reason) {
  const CUptiResult result = cupti_->enable_activity(kind);
  if (result == CUPTI_SUCCESS) return true;
  reason = "CUPTI gives no activity records: " + cupti_->text(result);
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    reason += "; the driver allows them to root only (NVreg_RestrictProfilingToAdminUsers=0 opens them)";
  }
  return false;
}

void Activity::flush() {
  cupti_->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void Activity::disable(CUpti_ActivityKind kind) {
  cupti_->disable_activity(kind);
}

}  // namespace peakmark
