#pragma once

#include <string>
#include <vector>

namespace peakmark {

/// Returns a note on the phases that a program has marked: none is `call`, so the program is measured as a
/// whole, or one is probably a misspelt phase. Empty if the marks are correct, or there are none. `phases`:
/// the marked phases, without duplicates. `left_out`: NVTX ranges whose names are similar to a phase.
std::string note_on_marks(const std::vector<std::string>& phases, const std::vector<std::string>& left_out);

}  // namespace peakmark
