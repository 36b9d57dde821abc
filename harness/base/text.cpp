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

namespace {

bool is_between(char letter, char first, char last) {
  return letter >= first && letter <= last;
}

/// Returns the length of a control sequence, after its escape character. If it does not end, because a line
/// was truncated, it extends to the end of the text. 0: the escape character begins no sequence.
std::size_t terminal_code_bytes(std::string_view text) {
  std::size_t bytes = 0;
  const auto skip = [&](char first, char last) {
    while (bytes < text.size() && is_between(text[bytes], first, last)) ++bytes;
  };
  const auto ends_in = [&](char first, char last) {
    if (bytes < text.size() && is_between(text[bytes], first, last)) ++bytes;
    return bytes;
  };
  if (text.empty()) return 0;
  if (text.front() == '[') {  // CSI: parameters, intermediate bytes, a final byte
    bytes = 1;
    skip('0', '?');
    skip(' ', '/');
    return ends_in('@', '~');
  }
  if (std::string_view("]P^_X").find(text.front()) != std::string_view::npos) {  // text up to BEL or ST
    const std::size_t end = text.find_first_of("\x07\x1b");
    if (end == std::string_view::npos) return text.size();
    return text.substr(end).starts_with("\x1b\\") ? end + 2 : text[end] == '\x07' ? end + 1 : end;
  }
  skip(' ', '/');
  return ends_in('0', '~');
}

}  // namespace

std::string without_terminal_codes(std::string_view text) {
  constexpr char kEscape = '\x1b';
  std::string plain;
  for (std::size_t at = text.find(kEscape); at != std::string_view::npos; at = text.find(kEscape)) {
    plain += text.substr(0, at);
    text.remove_prefix(at + 1);
    text.remove_prefix(terminal_code_bytes(text));
  }
  return plain.append(text);
}

namespace {

bool is_plain(std::uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  if (code >= 0x7F && code < 0xA0) return false;
  return (code < 0xD800 || code > 0xDFFF) && code != 0xFFFE && code != 0xFFFF && code <= 0x10FFFF;
}

}  // namespace

Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(text[at]) & 0xFFU; };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, is_plain(first), first, true};
  const Character byte_alone{1, false, first, false};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC0 || first > 0xF7 || text.size() < bytes) return byte_alone;
  std::uint32_t code = first & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return byte_alone;
    code = code << 6U | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kMinCodes{0, 0, 0x80, 0x800, 0x10000};
  if (code < kMinCodes.at(bytes)) return byte_alone;  // overlong encoding
  return {bytes, is_plain(code), code, true};
}

std::string valid_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const Character character = first_character(text);
    plain += character.is_plain ? text.substr(0, character.bytes) : std::string_view("\xEF\xBF\xBD");
    text.remove_prefix(character.bytes);
  }
  return plain;
}

}  // namespace peakmark
