#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trend/change_point_detector.hpp"
#include "analyse/trend/series.hpp"
#include "base/size.hpp"
#include "measure/compare/moved_allocations.hpp"

namespace peakmark::trend {

enum class Verdict : std::uint8_t { regression, suspicious, improvement, recovery };
std::string_view to_string(Verdict verdict);

/// The state of a change after all runs. `past`: needs no action. Null for suspicions.
enum class State : std::uint8_t { open, accepted, recovered, past };
std::string_view to_string(State state);

/// How a change was confirmed. Null for suspicions.
enum class Evidence : std::uint8_t { exact, measured_again, next_run };
std::string_view to_string(Evidence evidence);

/// A step that nearly all cases of a run take: its cause is more likely the machine than the code.
struct SharedStep {
  std::size_t number = 0;  ///< equal for the changes of one step
  std::size_t run = 0;     ///< the first in which most cases took it, an index of DeviceHistory::runs
  std::size_t cases = 0;   ///< that took it
  std::size_t of = 0;      ///< cases of the run whose times are judged
};

/// A metric of a case has a new level.
struct Change {
  std::string case_name;
  std::string metric;
  std::size_t first = 0;        ///< the first run of the new level, an index of DeviceHistory::runs
  std::size_t last_before = 0;  ///< the last run of the former level
  std::size_t raised = 0;       ///< the run that first reported it
  bool is_news = false;         ///< reported first by the last run that covers the case
  double before = 0;            ///< the former level, in the metric's unit
  double after = 0;
  std::optional<double> now;  ///< level since an open regression was undone in part; else null
  Verdict verdict{};
  std::optional<State> state;
  /// For a recovered regression, the run that was as good again. Null also if times went back gradually.
  std::optional<std::size_t> recovered_in = {};
  std::optional<std::size_t> acceptance = {};  ///< if accepted, an index of DeviceHistory::acceptances
  std::optional<Evidence> evidence;
  /// The reference of ratios, if they were less noisy than times: `copy` or `arithmetic`; else empty.
  std::string reference;
  std::optional<std::vector<MovedAllocations>> allocations;  ///< for the requested peak only
  /// Changes of the formulas of allocations, for the requested peak only: `output (outputs): 8·n → 4·n`.
  /// Empty if a run has no formulas.
  std::vector<std::string> formulas = {};
  std::string message = {};               ///< for a worse outcome, from its first run; may be empty
  std::vector<std::string> environment;   ///< facts that changed between the two levels
  std::optional<SharedStep> shared = {};  ///< for times only

  /// Returns (after − before) / before; null if `before` is 0.
  [[nodiscard]] std::optional<double> relative() const;
  /// Returns the same for `now`; null if that is null.
  [[nodiscard]] std::optional<double> relative_now() const;
};

struct NotEnoughData {
  std::string case_name;
  std::string metric;
  std::size_t runs = 0;
  std::size_t needed = 0;  ///< changes are reported with more runs than this
};

/// A case that its suite no longer has.
struct LeftSuite {
  std::string case_name;
  std::size_t last = 0;  ///< the last run that planned it
  bool is_news = false;  ///< only the last run of the suite lacks it
};

struct NewCase {
  std::string case_name;
  std::size_t run = 0;
  std::string note;  ///< `version 1 → 2: a new series`; empty if the suite did not have it
};

struct EnvironmentChange {
  std::size_t run = 0;  ///< the first with the new value
  std::string what;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

/// The newest value of a metric is above its level by at most the allowed growth.
struct AllowedGrowth {
  std::string case_name;
  std::string metric;
  std::size_t run = 0;  ///< the last with a value
  Size level = 0;       ///< the value after the last change
  Size value = 0;
};

/// The trends of one device. Lists are sorted by run, then by case.
struct Trends {
  std::vector<Change> changes;  ///< all since the first run; suspicions of the last runs only
  GrowthAllowance allowance;    ///< TrendOptions::allowed_growth
  std::vector<AllowedGrowth> allowed_growth;
  std::vector<NotEnoughData> not_enough_data;
  std::vector<LeftSuite> left_suite;
  std::vector<NewCase> new_cases;
  std::vector<EnvironmentChange> environment_changes;
  /// Cases whose times in the last run look changed and need a second measurement.
  std::vector<std::string> to_measure_again;
};

struct TrendOptions {
  DetectorOptions detector;
  /// Expected share of false changes of times among those reported for one run, over all of its cases
  /// (Benjamini and Hochberg).
  double false_discoveries = 0.2;
  /// Ratios to a reference are used if their noise is at most this share of the plain time's.
  double quieter = 0.8;
  /// Allowed growth of peak and setup since the last change, so that many small steps add up. The suite may
  /// allow more (DeviceHistory::allowances).
  GrowthAllowance allowed_growth = {};
};

/// Finds changes over the runs of a device, as each run would have found them with the runs up to it: later
/// runs do not alter earlier reports. Any difference of bytes or outcome is a change. A change of times needs
/// ChangePointDetector and a confirmation, by a second measurement in the same run or by the next run. Values
/// that are not finite, and times that are not positive, count as missing. For a history from
/// compare_with_base(), returns only the changes of the branch's runs. Throws UsageError if a list is not as
/// long as `runs`.
Trends find_trends(const DeviceHistory& history, const TrendOptions& options = {},
                   const AllocationsAtPeak& at_peak = {});

/// Returns one sentence for each thing that was not compared because no earlier run has it. For a branch:
/// suites that the base branch never ran on this device, or whose cases all begin a new series. For the base
/// branch: the device, if this applies to every suite.
std::vector<std::string> uncompared(const DeviceHistory& history);

/// Runs of a device that count as recent: a suite must be among them, and improvements are reported.
inline constexpr std::size_t kCurrentRuns = 30;
/// Returns true for one of the last kCurrentRuns runs, an index of DeviceHistory::runs.
bool is_current(const DeviceHistory& history, std::size_t run);
/// Returns true for an improvement or a recovery in a current run, unless it was accepted or undone.
bool is_recent_improvement(const DeviceHistory& history, const Change& change);
/// Returns true for a confirmed regression that was neither accepted nor undone.
bool is_open(const Change& change);
/// Returns true for an open regression, or a suspicion of the last run that covers the case.
bool needs_action(const Change& change);
bool has_open_regression(const Trends& trends);

}  // namespace peakmark::trend
