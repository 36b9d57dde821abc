#pragma once

#include <string>

#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// Returns whether the allocation exists only at some shapes, and no formula describes which.
bool is_at_some_shapes(const ExplainedAllocation& one);

/// Returns text for the console about allocations without a formula: their recorded sizes or numbers, and
/// what would help.
std::string unexplained_text(const VariantFormulas& variant);

}  // namespace peakmark
