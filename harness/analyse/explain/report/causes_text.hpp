#pragma once

#include <string>

#include "analyse/explain/derive/formula_report.hpp"

namespace peakmark {

/// Returns the findings about an estimator for the console: a line, and one for each cause.
std::string findings_text(const VariantFormulas& variant, const EstimatorFindings& findings);

/// Returns the findings of a report that have causes, below their variants; empty if there are none.
std::string causes_text(const FormulaReport& report);

/// Returns a cause in one line: `missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40`.
std::string cause_line(const VariantFormulas& variant, const EstimateCause& cause);

}  // namespace peakmark
