#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peakmark::history {

/// When a run was added, and its place among the others.
struct RunPlace {
  std::int64_t number = 0;  ///< runs are numbered as they arrive
  /// The number of the run directly before which it is placed. Null: after all runs that arrived before it.
  std::optional<std::int64_t> before;
};

/// Returns the indices of `places`, which are sorted by number, in the order of the runs: the order of
/// arrival, except that a placed run is directly before another. If several are placed before the same run,
/// the earliest arrival is first. A run whose other run is missing keeps its place in the order of arrival.
std::vector<std::size_t> run_order(const std::vector<RunPlace>& places);

/// Returns rows in the order of the runs. Each row has a `place`; they must be sorted by number.
template <typename Row>
std::vector<Row> in_order(std::vector<Row> rows) {
  std::vector<RunPlace> places;
  places.reserve(rows.size());
  for (const Row& row : rows) places.push_back(row.place);
  std::vector<Row> ordered;
  ordered.reserve(rows.size());
  for (const std::size_t index : run_order(places)) ordered.push_back(std::move(rows[index]));
  return ordered;
}

/// Returns the index of the first of `commits`, the commits of runs in their order, that is a known
/// descendant of `commit`. `parents`: a commit and its first parents, newest first. Null if there is none.
std::optional<std::size_t> first_descendant(const std::vector<std::string>& commits,
                                            const std::string& commit,
                                            const std::vector<std::string>& parents);

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
