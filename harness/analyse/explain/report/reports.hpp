#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "analyse/explain/derive/changed_formulas.hpp"
#include "analyse/explain/derive/formula_report.hpp"
#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// Returns the tables for the console.
std::string formulas_text(const FormulaReport& report);

/// Returns text for the console about allocations without a formula: their recorded sizes or numbers, and
/// what would help.
std::string unexplained_text(const VariantFormulas& variant);

/// Returns the findings about an estimator for the console: a line, and one for each cause.
std::string findings_text(const VariantFormulas& variant, const EstimatorFindings& findings);

/// Returns the findings of a report that have causes, below their variants; empty if there are none.
std::string causes_text(const FormulaReport& report);

/// Returns a cause in one line: `missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40`.
std::string cause_line(const VariantFormulas& variant, const EstimateCause& cause);

/// Returns a line for each allocation: `row coordinates (setup): 4·Hp·Wp → 4·Hp`.
std::vector<std::string> changed_formula_lines(const std::vector<ChangedVariant::Allocations>& changed);

/// Returns both side by side for the console, or one line that says that nothing differs.
std::string changed_formulas_text(const std::vector<ChangedVariant>& changed);

/// Returns the output of `explain OLD NEW --json` (docs/explain.md).
std::string changed_formulas_json(const std::vector<ChangedVariant>& changed);

/// Returns the output of `explain --json` (docs/explain.md).
std::string formulas_json(const FormulaReport& report);

/// Returns the list `causes` of `explain --json`.
nlohmann::ordered_json causes_json(const FormulaReport& report);

/// Returns `{"mode": ["edge", "wrap"]}`.
nlohmann::ordered_json words_json(const std::vector<WordSet>& sets);

}  // namespace peakmark
