#include "recorders/cupti/memory_records.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

namespace peakmark {
namespace {

/// Null for memory that no call of the driver's allocates.
std::optional<MemoryKind> kind_of(const CUpti_ActivityMemory4& record) {
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
  const auto kind = kind_of(memory);
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

void MemoryRecords::tell(EventSink& sink, std::uint64_t dropped) {
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
