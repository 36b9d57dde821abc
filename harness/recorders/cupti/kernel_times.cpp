#include "recorders/cupti/kernel_times.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>

namespace peakmark {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

/// In brackets, as no kernel is called.
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

/// Of a record of work.
std::string to_string(const CUpti_Activity& record) {
  if (record.kind == CUPTI_ACTIVITY_KIND_MEMSET) return "[memset]";
  if (record.kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
    return copy_name(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record).copyKind);
  }
  const char* const name = reinterpret_cast<const CUpti_ActivityKernel10&>(record).name;
  return name == nullptr ? "" : name;
}

}  // namespace

std::optional<DeviceWork> work_of(const CUpti_Activity& record) {
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
  const std::optional<DeviceWork> work = work_of(record);
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

}  // namespace peakmark
