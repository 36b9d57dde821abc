#include "record/cupti/kernel_times.hpp"

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

}  // namespace

void KernelTimes::add(const CUpti_Activity& record) {
  if (record.kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && record.kind != CUPTI_ACTIVITY_KIND_KERNEL)
    return;
  const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(record);
  Total& total = totals_[kernel.name == nullptr ? "" : kernel.name];
  ++total.count;
  total.ns += kernel.end - kernel.start;
}

std::vector<KernelTotal> KernelTimes::totals() const {
  std::vector<KernelTotal> result;
  for (const auto& [name, total] : totals_) result.push_back({demangled(name), total.count, total.ns});
  std::ranges::stable_sort(result, std::ranges::greater{}, &KernelTotal::ns);
  return result;
}

}  // namespace peakmark
