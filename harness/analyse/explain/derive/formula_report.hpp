#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyse/explain/derive/estimate_causes.hpp"
#include "analyse/explain/derive/memory_curve.hpp"
#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// What `explain` found.
struct FormulaReport {
  std::vector<VariantFormulas> variants;
  /// Findings about the estimators of these variants; empty without `--against`.
  std::vector<EstimatorFindings> findings;
  /// Values of axes for which bytes are shown; other axes have the value of the largest recorded shape.
  AxisLengths at;
  /// For JSON, one for each entry of `variants`: null if the peak has no formula.
  std::vector<std::optional<MemoryCurve>> curves = {};
  const RunContext* context = nullptr;  ///< of the run, for JSON; null: unknown
};

/// An estimator of a variant.
struct VariantEstimator {
  std::string variant;
  std::string estimator;
};

/// Adds the findings about the recorded answers of an estimator for a variant of the report; `estimator`
/// empty: the variant's default.
void add_findings(FormulaReport& report, std::size_t variant, const std::string& estimator);

/// Returns the names of the estimators that have answers in a run; with `variant`, only those about this
/// variant.
std::set<std::string> answered_estimators(const Run& run, const std::string& variant = {});

/// Explains why estimators of a run are wrong. The report has `findings` for each of these variants whose
/// cases have allocation sequences and formulas. It is empty if the run has no sequences.
FormulaReport explain_estimators(const Run& run, const std::vector<VariantEstimator>& wrong);

}  // namespace peakmark
