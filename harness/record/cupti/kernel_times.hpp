#pragma once

#include <cupti.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace peakmark {

/// How often each kernel ran, and how long in all.
struct KernelTotal {
  std::string name;  ///< demangled; `[memset]`, `[memcpy device to device]` for what is no kernel
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
};

/// Adds up activity records of kernels, copies and fills. Other kinds of record are passed over.
class KernelTimes {
 public:
  void add(const CUpti_Activity& record);
  /// The longest first; equal ones by name.
  [[nodiscard]] std::vector<KernelTotal> totals() const;
  void clear() { totals_.clear(); }

 private:
  struct Total {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
  };
  void add(const std::string& name, std::uint64_t start, std::uint64_t end);
  std::map<std::string, Total> totals_;
};

}  // namespace peakmark
