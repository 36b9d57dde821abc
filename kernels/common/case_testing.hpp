#pragma once

#include "measure/sweep/parameters.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {

/// Returns a case with these values, for tests of functions that take one.
inline Case make_case(const Parameters& parameters) {
  return Case(Parameters::Values(parameters.values().begin(), parameters.values().end()));
}

}  // namespace peakmark
