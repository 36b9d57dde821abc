#include "history/suspicious_cases.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "history/run_record.hpp"
#include "trend/trends.hpp"

namespace peakmark::history {
namespace {

void add_night(trend::DeviceHistory& device, const Run& run) {
  device.runs.push_back(night_of(run.context));
  std::map<std::string, const Observation*> timed;
  for (const Observation& one : run.observations) {
    if (one.outcome == Outcome::ok && one.gpu_time) timed[one.case_name] = &one;
  }
  for (trend::Series& series : device.series) {
    const bool is_time = series.metric == trend::metric::gpu_time_ns;
    const auto found = timed.find(series.case_name);
    if (!is_time || found == timed.end()) {
      series.values.emplace_back();
    } else {
      if (!series.cache.empty() &&
          series.cache != cache_of(*found->second)) {  // nothing earlier compares with it
        std::ranges::fill(series.values, std::nullopt);
        series.confirmations.clear();
      }
      series.values.push_back(median_of_block_medians(found->second->gpu_time));
    }
    if (!series.confirmations.empty()) series.confirmations.emplace_back();
  }
  device.outcomes.clear();  // of the nights before: what became of the cases is not asked here
}

}  // namespace

std::vector<std::string> suspicious_cases(std::vector<trend::DeviceHistory> devices,
                                          const std::string& device, const Run& run) {
  for (trend::DeviceHistory& one : devices) {
    if (one.device != device || one.backend != run.context.backend) continue;
    add_night(one, run);
    return trend::find_trends(one).to_measure_again;
  }
  return {};  // the first run of this device
}

}  // namespace peakmark::history
