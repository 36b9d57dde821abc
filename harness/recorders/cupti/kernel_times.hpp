#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace peakmark {

/// How often each kernel ran, and how long in all.
struct KernelTotal {
  std::string name;  ///< demangled; `[memset]`, `[memcpy device to device]` for what is no kernel
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

/// When the device worked on a kernel, a copy or a fill, in ns of CLOCK_MONOTONIC.
struct DeviceWork {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  /// CUPTI writes 0 and 0 where it could not take the times.
  [[nodiscard]] bool is_timed() const { return (start != 0 || end != 0) && end >= start; }
};
/// Nothing for other kinds of record.
std::optional<DeviceWork> work_of(const CUpti_Activity& record);

/// Adds up activity records of kernels, copies and fills. Other kinds of record are passed over.
class KernelTimes {
 public:
  void add(const CUpti_Activity& record);
  /// The longest first; equal ones by name.
  [[nodiscard]] std::vector<KernelTotal> totals() const;
  /// Records without times; they are in no total.
  [[nodiscard]] std::uint64_t untimed() const { return untimed_; }
  void clear() {
    totals_.clear();
    untimed_ = 0;
  }

 private:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
  };
  void add(const std::string& name, std::uint64_t start, std::uint64_t end);
  std::map<std::string, Total> totals_;
  std::uint64_t untimed_ = 0;
};

}  // namespace peakmark
