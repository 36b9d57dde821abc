#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "analyse/explain/derive/formula_report.hpp"

namespace peakmark {

/// Returns the output of `explain --json` (docs/explain.md).
std::string formulas_json(const FormulaReport& report);

/// Returns the list `causes` of `explain --json`.
nlohmann::ordered_json causes_json(const FormulaReport& report);

/// Returns `{"mode": ["edge", "wrap"]}`.
nlohmann::ordered_json words_json(const std::vector<WordSet>& sets);

}  // namespace peakmark
