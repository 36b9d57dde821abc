#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace peakmark {

/// A character of a text that may not be UTF-8.
struct Character {
  std::size_t bytes = 1;
  bool is_plain =
      false;  ///< allowed in XML 1.0, and not a control character except tab, newline, carriage return
  std::uint32_t code = 0;  ///< the byte itself if it does not begin a character
  bool is_utf8 = false;
};

/// Returns the first character by RFC 3629, or the first byte if it does not begin one. `text` is not empty.
Character first_character(std::string_view text);

/// Returns `text` with U+FFFD for each character that is not plain. For data; plain_text() is for users.
std::string valid_text(std::string_view text);

}  // namespace peakmark
