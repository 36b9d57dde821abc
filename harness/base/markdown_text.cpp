#include "base/markdown_text.hpp"

#include <cctype>

#include "base/plain_text.hpp"

namespace peakmark {
namespace {

// Renders as nothing, and keeps `@name` and `#12` from being links and notices.
constexpr std::string_view kNoLink = "&#8203;";

bool is_control(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte < 0x20 || byte == 0x7F;
}

/// One line, without control characters (those of two bytes, C1, too), its words a blank apart.
std::string one_plain_line(std::string_view text) {
  std::string line;
  bool is_parted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool is_c1 = text[at] == '\xC2' && at + 1 < text.size() &&
                       static_cast<unsigned char>(text[at + 1]) >= 0x80 &&
                       static_cast<unsigned char>(text[at + 1]) < 0xA0;
    if (is_c1 || text[at] == ' ' || is_control(text, at)) {
      is_parted = true;
      if (is_c1) ++at;
      continue;
    }
    if (is_parted && !line.empty()) line += ' ';
    is_parted = false;
    line += text[at];
  }
  return plain_text(line);
}

bool is_word_letter_at(std::string_view text, std::size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}

}  // namespace

std::string markdown_cell(std::string_view text) {
  const std::string line = one_plain_line(text);
  std::string cell;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char letter = line[at];
    if (std::string_view("\\`*_[]#!|~$").find(letter) != std::string_view::npos) cell += '\\';
    if (letter == '<') {
      cell += "&lt;";
    } else if (letter == '>' && at == 0) {  // a quotation
      cell += "&gt;";
    } else if (letter == '&') {
      cell += "&amp;";
    } else {
      cell += letter;
    }
    if ((letter == '@' || letter == '#' || letter == '!') && is_word_letter_at(line, at + 1)) cell += kNoLink;
  }
  return cell;
}

std::string markdown_code(std::string_view name) {
  const std::string line = one_plain_line(name);
  if (line.empty()) return "";
  std::string code = "`";
  for (const char letter : line) {
    if (letter == '`') {
      code += "ˋ";
    } else if (letter == '|') {
      code += "¦";
    } else {
      code += letter;
    }
  }
  return code + "`";
}

}  // namespace peakmark
