#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/run_formulas.hpp"

namespace peakmark {

/// Along which shapes the memory of a variant is evaluated.
struct CurveOptions {
  /// The shape at which a curve ends. Axes that it takes beyond every recorded shape grow in proportion.
  AxisLengths at;
  std::string axis;  ///< of the horizontal axis; empty: the first that grows
  /// The curve goes on until the peak needs more.
  std::optional<Size> budget_bytes;
};

/// The bytes of allocations of one name and place, at each shape of a curve.
struct CurveLayer {
  std::string name;
  std::string where;
  std::string phase;
  std::vector<Size> bytes;
};

/// Memory of a variant against shape, by its formulas: what `explain --plot` draws.
struct MemoryCurve {
  std::string axis;                      ///< of the horizontal axis: it grows from shape to shape
  Shapes shapes;                         ///< at which formulas were evaluated
  std::vector<CurveLayer> layers;        ///< what is live at the peak; adds up to `peak`
  std::vector<Size> peak;                ///< without the bytes of `unexplained`
  std::vector<std::string> unexplained;  ///< names of allocations without a formula
  Shapes recorded;                       ///< recorded shapes on the curve
  std::vector<Size> recorded_peak;       ///< of each
  std::optional<Size> budget_bytes;
  /// The index of the largest shape within the budget; null: the budget is not reached, or no shape fits.
  std::optional<std::size_t> within_budget;
};

/// Evaluates the peak of a variant along a line through its shapes: to `at`; without it, along the line with
/// the most recorded shapes, to four times the largest. Returns nothing if the peak has no formula, not even
/// a partial one, or no shape grows. Throws UsageError for an axis that the variant does not have.
std::optional<MemoryCurve> memory_curve(const VariantFormulas& variant, const CurveOptions& options);

/// Returns shapes on the line to `options.at` that are as small as the recorded ones, and were not recorded:
/// points for the curve. Empty without `at`.
std::vector<Parameters> shapes_on_curve(const RecordedCases& cases, const CurveOptions& options);

}  // namespace peakmark
