#include "runfile/kernel_time.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace peakmark {
namespace {

// As many as can be read at a glance; `check` shows them all.
constexpr std::size_t kMaxNamed = 5;

}  // namespace

std::optional<double> records_over_events(const Observation& observation) {
  if (!observation.gpu_time || observation.gpu_time->median_ns < kMinComparedNs) return std::nullopt;
  if (observation.kernels.size() != 1 || observation.kernels.front().count != 1) return std::nullopt;
  return static_cast<double>(observation.kernels.front().ns) / observation.gpu_time->median_ns;
}

std::string kernel_time_warning(const Run& run) {
  std::size_t apart = 0;
  std::string names;
  for (const Observation& observation : run.observations) {
    const std::optional<double> ratio = records_over_events(observation);
    if (!ratio || kRecordsAgree.contains(*ratio)) continue;
    if (++apart <= kMaxNamed) names += fmt::format("\n  {} ({:.2f})", observation.case_name, *ratio);
  }
  if (apart == 0) return {};
  if (apart > kMaxNamed) names += fmt::format("\n  and {} more", apart - kMaxNamed);
  return fmt::format(
      "{}: kernel records and device events are more than 5 % apart, so these times are not to be "
      "trusted (records over events):{}",
      quantity(apart, "case"), names);
}

}  // namespace peakmark
