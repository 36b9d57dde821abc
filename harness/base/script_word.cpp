#include "base/script_word.hpp"

#include <algorithm>
#include <cctype>

namespace peakmark {
namespace {

bool needs_no_quotes(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 ||
         std::string_view("-_./+,:=@%").find(letter) != std::string_view::npos;
}

}  // namespace

std::string script_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, needs_no_quotes)) return std::string(text);
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      word += "'\\''";
    } else {
      word += letter;
    }
  }
  return word + "'";
}

}  // namespace peakmark
