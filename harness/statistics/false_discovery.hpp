#pragma once

#include <span>
#include <vector>

namespace peakmark {

/// Benjamini and Hochberg (1995), as adjusted p, in the order given: of those that are at most q, in
/// expectation at most the part q is false. For tests that are independent, or positively dependent.
/// std::invalid_argument when a p is not within 0 … 1.
std::vector<double> adjust_false_discovery(std::span<const double> p);

}  // namespace peakmark
