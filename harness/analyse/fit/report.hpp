#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/fit/search.hpp"

namespace peakmark {

/// The source of the predictions.
enum class Predictor : std::uint8_t { formula, estimator, recordings };
std::string_view to_string(Predictor predictor);
/// Throws UsageError that lists the predictors.
Predictor parse_predictor(std::string_view name);

/// The items per second at a value of the axis, if the value is the number of items.
struct TimedValue {
  Size value = 0;
  double ns = 0;  ///< of one call, the median
  double items_per_second = 0;
  double low = 0;  ///< at the upper quartile of the times
  double high = 0;
  std::string time_source;
};

/// The answer of `peakmark fit`.
struct FitReport {
  std::string variant;
  std::string backend;
  std::string device;
  std::string axis;
  std::vector<std::pair<std::string, std::string>> fixed;  ///< the other axes
  SearchRange range;
  bool is_range_given = false;
  Size budget_bytes = 0;
  std::optional<Size> max_allocation;  ///< maximum bytes of one allocation; null: unlimited or unknown
  Predictor predictor = Predictor::recordings;
  /// The formula of the peak, for display; empty if there is none.
  std::string formula;
  std::vector<FitTrial> trials;
  std::vector<FittingInterval> intervals;        ///< predicted; empty if the predictor is `recordings`
  std::vector<std::pair<Size, Size>> predicted;  ///< values and bytes, for the plot
  std::optional<Size> value;                     ///< the answer; null if nothing fits
  /// With --objective throughput: the largest value that fits, and the times of the compared values.
  std::optional<Size> largest;
  std::vector<TimedValue> timed;
  bool is_stopped = false;  ///< a trial crashed, hung or had a wrong result; its note says so
  std::optional<ChunkPlan> chunks;
  std::optional<Size> last_chunk_bytes;  ///< by the formula
  std::vector<std::string> notes;
  std::string reproduce;  ///< the command that runs the trial that stopped the search; empty if there is none

  /// Returns the trial of a value that was run.
  [[nodiscard]] const FitTrial& trial(Size of_value) const;
  /// Returns the trial of the answer. `value` must be set.
  [[nodiscard]] const FitTrial& answer() const { return trial(*value); }
  /// Returns the largest value that fits. This is the answer, unless throughput is the objective.
  [[nodiscard]] std::optional<Size> end() const { return largest ? largest : value; }
  /// Returns the times of the answer; null without --objective throughput.
  [[nodiscard]] const TimedValue* timed_answer() const;
  /// Returns whether the next value after the largest was run and exceeds the budget, or is beyond the range.
  [[nodiscard]] bool is_proven() const;
  /// Returns the smallest trial above the largest fitting value that does not fit; null if there is none.
  [[nodiscard]] const FitTrial* refused_above() const;
};

/// Returns the tables for the console. `all_intervals`: lists every interval, if there are several.
std::string fit_text(const FitReport& report, bool all_intervals);

/// Returns the output of `fit --json` (docs/fit.md).
std::string fit_json(const FitReport& report);

/// Returns the output for reports of several devices.
std::string fit_json_of_devices(const std::vector<FitReport>& reports);

/// Returns the output for reports that differ in the value of one more axis.
std::string fit_text(const std::vector<FitReport>& reports, const std::string& other_axis);
std::string fit_json(const std::vector<FitReport>& reports, const std::string& other_axis);

}  // namespace peakmark
