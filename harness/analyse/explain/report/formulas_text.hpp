#pragma once

#include <string>

#include "analyse/explain/derive/formula_report.hpp"
#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// Returns the tables for the console.
std::string formulas_text(const FormulaReport& report);

/// Returns text for the console about allocations without a formula: their recorded sizes or numbers, and
/// what would help.
std::string unexplained_text(const VariantFormulas& variant);

}  // namespace peakmark
