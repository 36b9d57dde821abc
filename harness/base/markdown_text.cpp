#include "base/markdown_text.hpp"

#include <algorithm>

#include "base/plain_text.hpp"

namespace peakmark {

std::string markdown_cell(std::string_view text) {
  std::string cell;
  for (const char letter : plain_text(text)) {
    switch (letter) {
      case '|':
        cell += "\\|";
        break;
      case '\n':
      case '\r':
        cell += ' ';
        break;
      case '<':
        cell += "&lt;";
        break;
      default:
        cell += letter;
    }
  }
  return cell;
}

std::string markdown_code(std::string_view name) {
  std::string code = plain_text(name);
  std::ranges::replace_if(
      code, [](char letter) { return letter == '`' || letter == '|' || letter == '\n' || letter == '\r'; },
      ' ');
  return "`" + code + "`";
}

}  // namespace peakmark
