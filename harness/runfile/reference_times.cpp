#include "runfile/reference_times.hpp"

#include "base/quantile.hpp"

namespace peakmark {

void ReferenceTimes::add(const ReferenceTime& time) {
  if (time.copy_ns) copy_ns.push_back(*time.copy_ns);
  if (time.copy_bytes) copy_bytes = time.copy_bytes;
  if (time.arithmetic_ns) arithmetic_ns.push_back(*time.arithmetic_ns);
}

ReferenceTime ReferenceTimes::median() const {
  ReferenceTime median;
  if (!copy_ns.empty()) median.copy_ns = quantile(copy_ns, 0.5);
  median.copy_bytes = copy_bytes;
  if (!arithmetic_ns.empty()) median.arithmetic_ns = quantile(arithmetic_ns, 0.5);
  return median;
}

}  // namespace peakmark
