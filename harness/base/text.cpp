#include "base/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/script_word.hpp"
#include "base/utf8.hpp"

namespace peakmark {
namespace {

/// Returns a C escape such as `\n` or `\x1b`.
std::string escaped(const Character& character) {
  constexpr const char* kDigits = "0123456789abcdef";
  switch (character.code) {
    case '\t':
      return "\\t";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    default:
      break;
  }
  const bool is_byte = !character.is_utf8 || character.code < 0x80;
  std::string text = is_byte ? "\\x" : character.code > 0xFFFF ? "\\U" : "\\u";
  for (int shift = is_byte ? 4 : character.code > 0xFFFF ? 28 : 12; shift >= 0; shift -= 4) {
    text += kDigits[(character.code >> static_cast<unsigned>(shift)) & 0xFU];
  }
  return text;
}

/// Like without_log_commands(), but also puts a backslash before `::` at the beginning of a line: `::error::`
/// (GitHub).
std::string safe_in_logs(std::string text) {
  for (std::size_t line = 0; line != std::string::npos; line = text.find('\n', line + 1)) {
    const std::size_t at = text.find_first_not_of(" \t\r\n", line);
    if (at == std::string::npos) break;
    if (text.compare(at, 2, "::") == 0) text.insert(at, 1, '\\');
  }
  return without_log_commands(std::move(text), "\\#");
}

}  // namespace

std::string without_log_commands(std::string text, std::string_view hash) {
  for (const std::string_view command : {"##[", "##vso["}) {
    for (std::size_t at = text.find(command); at != std::string::npos; at = text.find(command, at))
      text.replace(at + 1, 1, hash);
  }
  return text;
}

std::string plain_text(std::string_view text) {
  return safe_in_logs(valid_text(text));
}

std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    const bool breaks_the_line = character.code == '\t' || character.code == '\n' || character.code == '\r';
    if (character.is_plain && !breaks_the_line) {
      line += text.substr(0, character.bytes);
    } else {
      line += escaped(character);
    }
    text.remove_prefix(character.bytes);
  }
  return safe_in_logs(std::move(line));
}

std::string shortened(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  const auto is_continuation = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t begin = max_bytes / 2;
  std::size_t end = text.size() - max_bytes / 2;
  while (begin > 0 && is_continuation(begin)) --begin;
  while (end < text.size() && is_continuation(end)) ++end;
  return std::string(text.substr(0, begin)) + " … (" + std::to_string(end - begin) + " bytes left out) … " +
         std::string(text.substr(end));
}

std::string cut_in_middle(std::string_view text, std::size_t max) {
  std::vector<std::size_t> characters;  // start of each character
  for (std::size_t at = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) characters.push_back(at);
  }
  if (characters.size() <= max) return std::string(text);
  const std::size_t before = max / 2;
  const std::size_t after = max - 1 - before;
  return std::string(text.substr(0, characters[before])) + "…" +
         std::string(text.substr(characters[characters.size() - after]));
}

std::string shell_word(std::string_view text) {
  return script_word(valid_text(text));
}

std::string first_names(const std::vector<std::string>& names, std::size_t max) {
  const std::size_t shown = std::min(names.size(), max);
  std::string text = fmt::format("{}", fmt::join(std::span(names).first(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string short_commit(std::string_view commit) {
  constexpr std::size_t kDigits = 12;
  std::string text(commit.substr(0, kDigits));
  if (commit.size() > kDigits && commit.ends_with('+')) text += '+';
  return text;
}

namespace {

// Invisible; keeps `@name` and `#12` from becoming links and notifications.
constexpr std::string_view kNoLink = "&#8203;";

bool is_control(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  return byte < 0x20 || byte == 0x7F;
}

/// Returns the words of `text` with one blank between them, without control characters (including C1, which
/// have two bytes).
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
  return valid_text(line);
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
    } else if (letter == '>' && at == 0) {  // would begin a quotation
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

std::string format_duration(double nanoseconds) {
  constexpr std::array<const char*, 4> names{"ns", "us", "ms", "s"};
  std::size_t unit = 0;
  // 999.95 would be shown as 1000: use 1 of the next unit.
  while (std::abs(nanoseconds) >= 999.95 && unit + 1 < names.size()) {
    nanoseconds /= 1000;
    ++unit;
  }
  return fmt::format("{:.4g} {}", nanoseconds, names[unit]);
}

std::string utc_date(std::chrono::system_clock::time_point when) {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(when)));
}

}  // namespace peakmark
