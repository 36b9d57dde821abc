#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/size.hpp"

namespace peakmark {

/// The values of an axis that a search may try: min, min + step, … up to max, or the values of a list up to
/// max. 0 < min ≤ max, step > 0.
struct SearchRange {
  Size min = 1;
  Size max = 1;
  Size step = 1;
  std::vector<Size> list = {};  ///< ascending, from min on; empty: every step

  [[nodiscard]] Size count() const;
  /// Returns a value by its index, from 0.
  [[nodiscard]] Size at(Size place) const;
  /// Returns the largest value of the range that is at most `value`; null if `value` < min.
  [[nodiscard]] std::optional<Size> at_most(Size value) const;
  /// Returns the next value of the range; null after the last.
  [[nodiscard]] std::optional<Size> above(Size value) const;
};

/// The result of a run at one value of the axis.
struct FitTrial {
  Size value = 0;
  /// The recorded peak; null if an allocation was refused.
  std::optional<Size> peak_bytes = std::nullopt;
  std::optional<Size> predicted_bytes = std::nullopt;
  std::string outcome = {};  ///< as in run files: `ok`, `out_of_memory`, …; not read by the search
  std::string message = {};
  bool went_on = false;  ///< an allocation was refused, and the program continued
  /// The largest allocation of the run, or the largest refused request; null if unknown.
  std::optional<Size> largest_allocation = std::nullopt;
};

/// Returns whether an allocation of a trial, made or refused, is larger than the device allows. Null: there
/// is no limit.
bool exceeds_allocation(const FitTrial& trial, const std::optional<Size>& max_allocation);

/// Returns the bytes at a value of the axis; null if they are unknown.
using PredictedBytes = std::function<std::optional<Size>(Size value)>;

/// Searches for the largest value of an axis whose peak is within a budget, with few runs and without running
/// out of memory.
///
/// With a formula, the first value tried is the formula's answer. Without one, or if a recorded peak differs
/// from it, the bytes are extrapolated from the recorded peaks: as a + b·v^k with k = 1, 2 or 3 if a third
/// peak confirms it, else by a parabola and not far. Call next() for a value, run it and add() the trial,
/// until next() returns null.
///
/// A device may also limit the size of one allocation. Both limits become one: a trial counts with its peak
/// or, if that is more, with the budget multiplied by its largest allocation's share of the allocation limit.
class LargestValueSearch {
 public:
  /// `max_allocation`: of the device; null: no limit. Throws UsageError for an empty range or a negative
  /// budget.
  LargestValueSearch(SearchRange range, Size budget_bytes, PredictedBytes formula = {},
                     std::optional<Size> max_allocation = std::nullopt);

  /// Makes the search continue until the next value after the largest was tried too, or is beyond the range.
  void require_proof() { is_proof_required_ = true; }

  /// Returns the next value to run, never the same twice; null if the search has ended.
  [[nodiscard]] std::optional<Size> next() const;
  /// Returns the predicted bytes at a value; null without a formula or an extrapolation that a third peak
  /// confirms.
  [[nodiscard]] std::optional<Size> predict(Size value) const;
  void add(const FitTrial& trial);

  [[nodiscard]] const std::vector<FitTrial>& trials() const { return trials_; }
  /// Returns the largest value that ran within the budget; null if none did.
  [[nodiscard]] std::optional<Size> largest() const;
  /// Returns whether a recorded peak is smaller than that of a smaller value.
  [[nodiscard]] bool is_decreasing_somewhere() const;
  /// Returns whether all recorded peaks equal the formula; false without a formula.
  [[nodiscard]] bool is_formula_confirmed() const;

 private:
  struct Point {
    Size value = 0;
    Size bytes = 0;
  };
  struct Model;

  [[nodiscard]] std::optional<Size> demand(const FitTrial& trial) const;

  [[nodiscard]] bool fits(const FitTrial& trial) const;
  [[nodiscard]] bool is_tried(Size value) const;
  [[nodiscard]] std::optional<Size> smallest_refused() const;
  [[nodiscard]] std::optional<Size> missed_by_formula(Size value) const;
  [[nodiscard]] std::optional<Size> next_by_formula() const;
  [[nodiscard]] std::optional<Size> next_by_peaks() const;
  [[nodiscard]] Size between(Size fitting, Size refused) const;
  static Model model(const std::vector<Point>& points);

  SearchRange range_;
  Size budget_ = 0;
  PredictedBytes formula_;
  std::optional<Size> max_allocation_;
  bool is_proof_required_ = false;
  std::vector<FitTrial> trials_;
  std::vector<Point> peaks_;    ///< recorded; sorted by value
  std::vector<Point> demands_;  ///< sorted by value
};

/// Values between `first` and `last`, both included, all of which fit.
struct FittingInterval {
  Size first = 0;
  Size last = 0;

  bool operator==(const FittingInterval& other) const { return first == other.first && last == other.last; }
};

/// Returns the intervals of the range in which a formula stays within the budget, in ascending order.
/// Evaluates the formula at every value if there are at most `kMaxEvaluated`; else at this number of evenly
/// spread values, and finds the ends of the intervals between them by bisection. A value whose bytes are
/// unknown does not fit.
std::vector<FittingInterval> fitting_intervals(const SearchRange& range, Size budget_bytes,
                                               const PredictedBytes& formula);
inline constexpr Size kMaxEvaluated = Size{1} << 20;

/// Returns the predicted bytes at about 200 values, from the smallest to a quarter beyond the largest that
/// ran.
std::vector<std::pair<Size, Size>> predicted_curve(const LargestValueSearch& search,
                                                   const SearchRange& range);

/// How a stack of slices is processed in chunks.
struct ChunkPlan {
  Size slices = 0;
  Size chunk_slices = 0;
  Size chunks = 0;
  Size last_slices = 0;  ///< of the last chunk
};

/// Returns the plan of `slices` slices in chunks of at most `chunk_slices`. Both > 0.
ChunkPlan plan_chunks(Size slices, Size chunk_slices);

}  // namespace peakmark
