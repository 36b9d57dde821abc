#pragma once

#include <string>
#include <string_view>

namespace peakmark {

/// Returns `text` without the control sequences of terminals (ECMA-48): colours, cursor movements, titles,
/// links. So the output of a program for a terminal can be used in messages.
std::string without_terminal_codes(std::string_view text);

}  // namespace peakmark
