#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "compare/moved_allocations.hpp"
#include "trend/change_point_detector.hpp"
#include "trend/series.hpp"

namespace peakmark::trend {

enum class Verdict : std::uint8_t { regression, suspicious, improvement, recovery };
std::string_view to_string(Verdict verdict);

/// What became of a change since. `past`: nothing is to be done about it. Suspicions have none.
enum class State : std::uint8_t { open, accepted, recovered, past };
std::string_view to_string(State state);

/// Why a change is believed. Suspicions have none.
enum class Evidence : std::uint8_t { exact, measured_again, next_night };
std::string_view to_string(Evidence evidence);

/// A metric of a case has another level than before.
struct Change {
  std::string case_name;
  std::string metric;
  std::size_t first = 0;  ///< the run that is the first night of the new level; an index of the history's
  std::size_t last_before = 0;  ///< the last night of the former level
  std::size_t raised = 0;       ///< the run after which it was first told
  bool is_news = false;         ///< which is the last that can tell of the case
  double before = 0;            ///< the former level, in the metric's unit
  double after = 0;
  Verdict verdict{};
  std::optional<State> state;
  std::optional<Evidence> evidence;
  /// What times were taken as ratios to, where that was quieter: `copy` or `arithmetic`; else empty.
  std::string reference;
  std::optional<std::vector<MovedAllocations>> allocations;  ///< of the requested peak alone
  std::vector<std::string> environment;                      ///< what else changed between the two levels

  /// (after − before) / before; null where `before` is 0.
  [[nodiscard]] std::optional<double> relative() const;
};

struct NotEnoughData {
  std::string case_name;
  std::string metric;
  std::size_t nights = 0;
  std::size_t least = 0;  ///< more nights than these are needed before anything is told
};

struct Vanished {
  std::string case_name;
  std::size_t last = 0;  ///< the last run that measured it
  std::optional<std::string>
      outcome;           ///< in the last run that can tell of it; null: its suite has it no more
  bool is_news = false;  ///< that run is the first without it
};

struct NewCase {
  std::string case_name;
  std::size_t run = 0;
};

struct EnvironmentChange {
  std::size_t run = 0;  ///< the first in which it is so
  std::string what;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

/// The newest value of a metric is above its level, by no more than is allowed.
struct AllowedGrowth {
  std::string case_name;
  std::string metric;
  std::size_t run = 0;  ///< the last that has a value
  Size level = 0;       ///< what growth is counted from: the value after the last change
  Size value = 0;
};

/// All that is to be told of one device. Its lists are in order of runs, then of cases.
struct Trends {
  std::vector<Change> changes;  ///< every one since the first run; suspicions of the last runs alone
  GrowthAllowance allowance;    ///< TrendOptions::allowed_growth
  std::vector<AllowedGrowth> allowed_growth;
  std::vector<NotEnoughData> not_enough_data;
  std::vector<Vanished> vanished;
  std::vector<NewCase> new_cases;
  std::vector<EnvironmentChange> environment_changes;
  /// Cases to measure again in the night of the last run: its times look other than those before.
  std::vector<std::string> to_measure_again;
};

struct TrendOptions {
  WatchOptions watch;
  /// Of the changes of times told of one night, at most this part is false, in expectation (Benjamini and
  /// Hochberg), over all cases of the night.
  double false_discoveries = 0.2;
  /// A ratio to a reference is taken where its noise is at most this part of the plain time's.
  double quieter = 0.8;
  /// Of the peak and of setup, since the last change that was found: many small steps are one large one.
  GrowthAllowance allowed_growth = {};
};

/// Looks for changes along the runs of a device, as one would have in each night with the runs up to it:
/// what was told once is told again, whatever came later. Bytes change when they change. Times change when
/// ChangePointDetector says so and a second measurement of the night, or the next night, says so too. Values
/// that are not finite, and times that are not positive, are missing. UsageError where lists are not as long
/// as `runs`.
Trends find_trends(const DeviceHistory& history, const TrendOptions& options = {},
                   const AllocationsAtPeak& at_peak = {});

/// A regression that is confirmed and neither accepted nor undone.
bool is_open(const Change& change);
/// Open, or a suspicion of the last run that can tell of the case.
bool needs_a_look(const Change& change);
bool has_open_regression(const Trends& trends);

}  // namespace peakmark::trend
