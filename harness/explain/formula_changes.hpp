#pragma once

#include <string>
#include <vector>

#include "explain/run_formulas.hpp"

namespace peakmark {

/// Returns what became of the formulas of a case between two runs, a line for each allocation that differs:
/// `row coordinates (setup): 4·Hp·Wp → 4·Hp`. Empty where nothing differs, or either run has no formulas for
/// the words of the case. `axes`: of the case, in both runs.
std::vector<std::string> formula_changes(const std::vector<VariantFormulas>& before,
                                         const std::vector<VariantFormulas>& after, const Parameters& axes);

}  // namespace peakmark
