#pragma once

#include <string>

#include "explain/run_formulas.hpp"

namespace peakmark {

/// Returns whether the allocation is there at some shapes only, and no formula says at which.
bool is_at_some_shapes(const ExplainedAllocation& one);

/// Returns for the console what has no formula: its recorded sizes or numbers, and what would help.
std::string unexplained_text(const VariantFormulas& variant);

}  // namespace peakmark
