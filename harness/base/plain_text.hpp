#pragma once

#include <string>
#include <string_view>

namespace peakmark {

/// `text` without what a terminal would obey and XML 1.0 does not allow: control characters other than tab,
/// newline and carriage return, and bytes that are no UTF-8, each become U+FFFD.
std::string plain_text(std::string_view text);

}  // namespace peakmark
