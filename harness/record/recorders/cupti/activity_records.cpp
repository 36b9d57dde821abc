#include "record/recorders/cupti/activity_records.hpp"

#include <cxxabi.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace peakmark {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{4} << 20;

Activity* registered_activity = nullptr;

std::uint64_t monotonic_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// Returns whether the layout of this release is known. New releases append fields to records; the kinds and
// fields that the recorder reads have the layout of 13.0 in all of these releases (checked in the headers of
// 12.0, 12.4, 12.9 and 13.0 to 13.5).
bool has_known_records(std::uint32_t version) {
  constexpr std::uint32_t kCuda120 = 18;
  constexpr std::uint32_t kCuda129 = 28;
  return (version >= kCuda120 && version <= kCuda129) || (version >= 130'000 && version < 130'600);
}

}  // namespace

void Activity::request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(64, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;  // without a buffer, CUPTI drops records and counts them
  *max_records = 0;
}

void Activity::complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t /*bytes*/,
                        std::size_t valid_bytes) {
  if (registered_activity != nullptr) {
    registered_activity->consume(buffer, valid_bytes);
    std::size_t dropped = 0;
    if (registered_activity->cupti_->dropped_records(context, stream, &dropped) == CUPTI_SUCCESS)
      registered_activity->dropped_ += dropped;
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
    reason = "activity records are supported for CUPTI 12.0 to 13.5; this process has another release, " +
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
  // Puts CUPTI's own buffers into host memory, because on the device they would add to the resident bytes.
  // Cards that do not support this keep them on the device.
  std::uint8_t pinned = 1;
  std::size_t size = sizeof(pinned);
  cupti.set_attribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED, &size, &pinned);
  CUptiResult result = cupti.register_clock(monotonic_ns);
  if (result == CUPTI_SUCCESS) {
    registered_activity = this;
    result = cupti.register_buffers(request, complete);
  }
  if (result != CUPTI_SUCCESS) reason = "CUPTI refuses buffers: " + cupti.text(result);
  return result == CUPTI_SUCCESS;
}

bool Activity::enable(CUpti_ActivityKind kind, std::string& reason) {
  const CUptiResult result = cupti_->enable_activity(kind);
  if (result == CUPTI_SUCCESS) return true;
  reason = "CUPTI provides no activity records: " + cupti_->text(result);
  if (result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES) {
    reason += "; the driver allows them to root only (set NVreg_RestrictProfilingToAdminUsers=0)";
  }
  return false;
}

void Activity::flush() {
  cupti_->flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void Activity::disable(CUpti_ActivityKind kind) {
  cupti_->disable_activity(kind);
}

namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

/// The name is in brackets, so that it cannot equal that of a kernel.
std::string copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "[memcpy host to device]";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "[memcpy device to host]";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "[memcpy device to device]";
    default:
      return "[memcpy]";
  }
}

/// Returns the name of a kernel, copy or fill.
std::string to_string(const CUpti_Activity& record) {
  if (record.kind == CUPTI_ACTIVITY_KIND_MEMSET) return "[memset]";
  if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    return copy_name(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record).copyKind);
  }
  const char* const name = reinterpret_cast<const CUpti_ActivityKernel10&>(record).name;
  return name == nullptr ? "" : name;
}

}  // namespace

std::optional<DeviceWork> device_work(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
      return DeviceWork{kernel.start, kernel.end};
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      return DeviceWork{copy.start, copy.end};
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(record);
      return DeviceWork{fill.start, fill.end};
    }
    default:
      return std::nullopt;
  }
}

void KernelTimes::add(const CUpti_Activity& record) {
  const std::optional<DeviceWork> work = device_work(record);
  if (!work) return;
  if (!work->is_timed()) {
    ++untimed_;
    return;
  }
  add(to_string(record), work->start, work->end);
}

void KernelTimes::add(const std::string& name, std::uint64_t start, std::uint64_t end) {
  Total& total = totals_[name];
  ++total.count;
  total.ns += end - start;
}

std::vector<KernelTotal> KernelTimes::totals() const {
  std::vector<KernelTotal> result;
  for (const auto& [name, total] : totals_) result.push_back({demangled(name), total.count, total.ns});
  std::ranges::stable_sort(result, std::ranges::greater{}, &KernelTotal::ns);
  return result;
}

namespace {

/// Returns null for memory that no driver call allocates.
std::optional<MemoryKind> memory_kind(const CUpti_ActivityMemory4& record) {
  switch (record.memoryKind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return MemoryKind::host_pinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return MemoryKind::host_registered;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return record.memoryPoolConfig.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID
                 ? MemoryKind::device
                 : MemoryKind::pool_async;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return MemoryKind::array;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return MemoryKind::managed;
    default:
      return std::nullopt;
  }
}

}  // namespace

void MemoryRecords::add(const CUpti_Activity& record) {
  if (record.kind != CUPTI_ACTIVITY_KIND_MEMORY2) return;
  const auto& memory = reinterpret_cast<const CUpti_ActivityMemory4&>(record);
  const auto kind = memory_kind(memory);
  if (!kind) {
    ++static_variables_;
    return;
  }
  records_.push_back(
      {.time_ns = memory.timestamp,
       .is_release = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
       .allocation = {.address = memory.address,
                      .bytes = static_cast<std::int64_t>(memory.bytes),
                      .kind = *kind,
                      .pool = memory.memoryPoolConfig.address,
                      .device = memory.deviceId,
                      .context = memory.contextId}});
}

void MemoryRecords::write(EventSink& sink, std::uint64_t dropped) {
  std::ranges::stable_sort(records_, {}, &Record::time_ns);
  for (const Record& record : records_) {
    if (record.is_release) {
      sink.release(record.allocation.address);
    } else {
      sink.allocation(record.allocation);
    }
  }
  char text[120];
  if (static_variables_ > 0) {
    std::snprintf(text, sizeof(text), "%llu records of static variables are left out",
                  static_cast<unsigned long long>(static_variables_));
    sink.note(text);
  }
  if (dropped > 0) {
    std::snprintf(text, sizeof(text), "invalid: CUPTI dropped %llu activity records",
                  static_cast<unsigned long long>(dropped));
    sink.note(text);
  }
  records_.clear();
  static_variables_ = 0;
}

}  // namespace peakmark
