#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "trend/series.hpp"

// Runs made by hand, for the tests of this module.
namespace peakmark::trend {

/// Returns a device with a run each night, `run0` on 2026-01-01, and no case.
inline DeviceHistory nightly_history(std::size_t nights) {
  DeviceHistory history;
  history.device = "GPU";
  history.backend = "opencl";
  const auto first = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
  for (std::size_t night = 0; night < nights; ++night) {
    const std::chrono::year_month_day day(first + std::chrono::days(night));
    HistoryRun run;
    run.id = "run" + std::to_string(night);
    run.date = fmt::format("{:04}-{:02}-{:02}T02:00:00Z", static_cast<int>(day.year()),
                           static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
    run.suite = "nightly";
    run.driver = "1";
    history.runs.push_back(run);
  }
  return history;
}

}  // namespace peakmark::trend
