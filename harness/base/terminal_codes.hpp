#pragma once

#include <string>
#include <string_view>

namespace peakmark {

/// Returns `text` without the control sequences of terminals (ECMA-48): colours, moves of the cursor, titles,
/// links. What a program wrote for a terminal is then text for a message.
std::string without_terminal_codes(std::string_view text);

}  // namespace peakmark
