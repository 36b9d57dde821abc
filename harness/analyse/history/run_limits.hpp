#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark::history {

/// Limits which runs of a device are read.
struct RunLimits {
  std::string since;         ///< only runs from this date on; empty: all
  std::size_t max_runs = 0;  ///< of each suite, chosen by thinned_runs(); 0: all
};

/// Returns for each run, in order of date, whether it is kept; `suites` has the suite of each run. A suite
/// with more than `max_runs` runs keeps its first run, the newest runs (half of this number), and one in 2,
/// 4, 8, … of the older ones. A run that is kept later was kept before, since runs are counted from the
/// first.
std::vector<bool> thinned_runs(const std::vector<std::string_view>& suites, std::size_t max_runs);

}  // namespace peakmark::history
