#pragma once

#include <string>
#include <vector>

namespace peakmark {

/// What is to be said of the phases that a program has marked: that none is `call`, so that it is measured
/// as a whole; that one is called almost as a phase that suites know. Empty where the marks are in order, or
/// nothing was marked.
/// `phases`: those marked, each once. `left_out`: ranges of NVTX that are called almost as a phase of a
/// suite.
std::string note_on_marks(const std::vector<std::string>& phases, const std::vector<std::string>& left_out);

}  // namespace peakmark
