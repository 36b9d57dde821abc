#include "sweep/toml_key.hpp"

#include <algorithm>
#include <vector>

namespace peakmark {
namespace {

std::string_view up_to(std::string_view text, std::uint32_t line, std::uint32_t column) {
  std::size_t begin = 0;
  for (std::uint32_t i = 1; i < line && begin != std::string_view::npos; ++i) {
    begin = text.find('\n', begin);
    if (begin != std::string_view::npos) ++begin;
  }
  if (begin == std::string_view::npos) return text;
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return text.substr(0, std::min(begin + column, end));
}

std::string_view trimmed(std::string_view text) {
  constexpr const char* kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Where the text in quotes that begins at `i` ends: at its second quote. A text in three quotes is one in
/// two quotes, one with all that it says, and one in two quotes again.
std::size_t end_of_quoted(std::string_view text, std::size_t i) {
  const char quote = text[i];
  while (++i < text.size() && text[i] != quote)
    if (quote == '"' && text[i] == '\\') ++i;
  return i;
}

struct OpenKey {
  int depth;  ///< brackets and braces around it
  std::string_view key;
};

}  // namespace

std::string key_at(std::string_view toml, std::uint32_t line, std::uint32_t column) {
  const std::string_view text = up_to(toml, line, column);
  std::vector<OpenKey> open;
  int depth = 0;
  std::size_t begin = 0;  // of what stands before the next `=`
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      i = end_of_quoted(text, i);
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size()) - 1;
    } else if (c == '=') {
      while (!open.empty() && open.back().depth >= depth) open.pop_back();
      open.push_back({depth, trimmed(text.substr(begin, i - begin))});
    } else if (c == '\n' && (depth == 0 || open.empty())) {
      open.clear();
      depth = 0;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
    if (std::string_view("\n[{,").find(c) != std::string_view::npos) begin = i + 1;
  }
  std::string key;
  for (const OpenKey& outer : open) key += (key.empty() ? "" : ".") + std::string(outer.key);
  return key;
}

}  // namespace peakmark
