#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "analyse/trend/series.hpp"

namespace peakmark::trend {

/// The newest run of a suite on a device: the last in the order of runs.
struct NewestRun {
  HistoryRun run;
  /// Null if its date is later than tomorrow, because the clock was wrong.
  std::optional<std::chrono::seconds> age;
  bool is_current = true;  ///< one of the device's last kCurrentRuns
  bool is_stale = false;   ///< older than allowed, or of unknown age
};

/// Returns the newest run of each suite, by suite. `max_age`: null allows any age.
std::vector<NewestRun> find_newest_runs(const DeviceHistory& history,
                                        std::chrono::system_clock::time_point now,
                                        std::optional<std::chrono::seconds> max_age = std::nullopt);

/// Returns `newest run of nightly: 2026-11-24, 2 days ago, commit 1a2b3c4d5e6f; partial: shard 2 of 4 is
/// missing`.
std::string to_text(const NewestRun& newest);

}  // namespace peakmark::trend
