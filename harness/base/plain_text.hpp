#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace peakmark {

/// `text` without what a terminal would obey and XML 1.0 does not allow: control characters other than tab,
/// newline and carriage return, and bytes that are no UTF-8, each become U+FFFD.
std::string plain_text(std::string_view text);

/// `text` for one line of a terminal: control characters, tab and newline too, and bytes that are no UTF-8
/// stand as escapes, `\n`, `\x1b`, `\u009b`.
std::string one_line(std::string_view text);

/// `text` itself, or, where it has more than `most` bytes (at least 4), its beginning and its end, half each,
/// and between them how many bytes were left out. No character of UTF-8 is cut in two.
std::string shortened(std::string_view text, std::size_t most);

/// `text` itself, or, where it has more than `max` characters (at least 3), its beginning and its end with
/// `…` between them: the end of a command line or a case name tells most.
std::string cut_in_middle(std::string_view text, std::size_t max);

}  // namespace peakmark
