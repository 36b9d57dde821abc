#pragma once

#include <string>
#include <vector>

#include "analyse/explain/derive/changed_formulas.hpp"

namespace peakmark {

/// Returns a line for each allocation: `row coordinates (setup): 4·Hp·Wp → 4·Hp`.
std::vector<std::string> changed_formula_lines(const std::vector<ChangedVariant::Allocations>& changed);

/// Returns both side by side for the console, or one line that says that nothing differs.
std::string changed_formulas_text(const std::vector<ChangedVariant>& changed);

/// Returns the output of `explain OLD NEW --json` (docs/explain.md).
std::string changed_formulas_json(const std::vector<ChangedVariant>& changed);

}  // namespace peakmark
