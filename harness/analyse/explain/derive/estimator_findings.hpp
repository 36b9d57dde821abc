#pragma once

#include <string>
#include <vector>

#include "analyse/explain/derive/estimate_causes.hpp"

namespace peakmark {

/// Returns an estimator's answers in the run file; `name` empty: the answers of each variant's default
/// estimator. If the run did not ask it, no shape has an answer.
EstimatedCases recorded_estimates(const RecordedCases& cases, const std::string& name);

/// The findings about an estimator, for formulas of one variant.
struct EstimatorFindings {
  std::string estimator;
  std::size_t variant = 0;   ///< index into FormulaReport::variants
  std::string error;         ///< why it was not compared, or failed on some shapes; else empty
  std::size_t compared = 0;  ///< number of shapes for which it answered
  std::size_t wrong = 0;     ///< number of these whose bytes differ from the peak
  std::vector<EstimateCause> causes;

  [[nodiscard]] bool is_exact() const { return wrong == 0 && error.empty(); }
};

/// Compares an estimator with the formulas of a variant. `estimated`: one for each of `variant.cases`. If
/// only some combinations of words have a cause, its condition names them.
EstimatorFindings compare_estimator(const VariantFormulas& variant, const std::string& estimator,
                                    const std::vector<EstimatedCases>& estimated);

}  // namespace peakmark
