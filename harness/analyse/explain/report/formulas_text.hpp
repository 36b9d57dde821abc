#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analyse/explain/derive/formula_report.hpp"

namespace peakmark {

/// Returns the tables for the console.
std::string formulas_text(const FormulaReport& report);

/// Returns the output of `explain --json` (docs/explain.md).
std::string formulas_json(const FormulaReport& report);

/// Returns the causes of a report for the console, one line each, below their variant; empty if there are
/// none.
std::string causes_text(const FormulaReport& report);

/// Returns a cause in one line: `missing: 4·n·ny·(nx + 1) when nx is odd, even copy, tomolib.py:40`.
std::string cause_line(const VariantFormulas& variant, const EstimateCause& cause);

/// Returns the list `causes` of `explain --json`.
nlohmann::ordered_json causes_json(const FormulaReport& report);

}  // namespace peakmark
