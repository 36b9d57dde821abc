#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// The shapes along which the memory of a variant is evaluated.
struct CurveOptions {
  /// The shape at which a curve ends. Axes that exceed every recorded shape there grow in proportion.
  AxisLengths at;
  std::string axis;  ///< of the horizontal axis; empty: the first that grows
  /// The curve continues until the peak exceeds this budget.
  std::optional<Size> budget_bytes;
};

/// The bytes of allocations with the same name and call site, at each shape of a curve.
struct CurveLayer {
  std::string name;
  std::string where;
  std::string phase;
  std::vector<Size> bytes;
};

/// The memory of a variant as a function of the shape, by its formulas: `explain --plot` draws it.
struct MemoryCurve {
  std::string axis;                      ///< of the horizontal axis: it grows from shape to shape
  Shapes shapes;                         ///< at which formulas were evaluated
  std::vector<CurveLayer> layers;        ///< allocations live at the peak; they add up to `peak`
  std::vector<Size> peak;                ///< without the bytes of `unexplained`
  std::vector<std::string> unexplained;  ///< names of allocations without a formula
  Shapes recorded;                       ///< recorded shapes on the curve
  std::vector<Size> recorded_peak;       ///< of each
  std::optional<Size> budget_bytes;
  /// The index of the largest shape within the budget; null: the budget is not reached, or no shape fits.
  std::optional<std::size_t> within_budget;
};

/// Evaluates the peak of a variant along a line through its shapes that ends at `at`. Without `at`, the line
/// is the one with the most recorded shapes, up to four times the largest. Returns null if the peak has no
/// formula, not even a partial one, or no shape grows. Throws UsageError for an axis that the variant does
/// not have.
std::optional<MemoryCurve> memory_curve(const VariantFormulas& variant, const CurveOptions& options);

/// Returns shapes on the line to `options.at` that are as small as the recorded ones and were not recorded:
/// further points for the curve. Empty without `at`.
std::vector<Parameters> shapes_on_curve(const RecordedCases& cases, const CurveOptions& options);

}  // namespace peakmark
