#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/against.hpp"
#include "explain/memory_curve.hpp"
#include "explain/run_formulas.hpp"

namespace peakmark {

struct FormulaReport {
  std::vector<VariantFormulas> variants;
  /// One for each entry of `variants`; empty without `--against`.
  std::vector<EstimatorFindings> findings;
  /// Values of axes at which bytes are shown; others are those of the largest recorded shape.
  FixedAxes at;
  /// For JSON, one for each entry of `variants`: null where the peak has no formula.
  std::vector<std::optional<MemoryCurve>> curves = {};
  const RunContext* context = nullptr;  ///< of the run, for JSON; null: unknown
};

/// Returns the tables for the console.
std::string formulas_text(const FormulaReport& report);

/// Returns the output of `explain --json` (docs/explain.md).
std::string formulas_json(const FormulaReport& report);

/// An estimator of a variant.
struct VariantEstimator {
  std::string variant;
  std::string estimator;
};

/// Explains why estimators of a run are wrong: with `findings` for each of these variants whose cases have
/// allocation sequences and formulas. Empty if the run has no sequences.
FormulaReport explain_estimators(const Run& run, const std::vector<VariantEstimator>& wrong);

/// Returns the causes of a report for the console, one line each, below their variant; empty if there are
/// none.
std::string causes_text(const FormulaReport& report);

/// Returns the list `causes` of `explain --json`.
std::string causes_json(const FormulaReport& report);

/// Returns the formulas that differ between two runs, side by side; a line that says so if none does. Sets
/// `is_changed` to whether there is one.
std::string changed_formulas_text(const std::vector<VariantFormulas>& base,
                                  const std::vector<VariantFormulas>& next, bool& is_changed);

}  // namespace peakmark
