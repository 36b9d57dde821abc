#pragma once

#include <string>

#include "analyse/explain/derive/formula_report.hpp"

namespace peakmark {

/// Returns the tables for the console.
std::string formulas_text(const FormulaReport& report);

}  // namespace peakmark
