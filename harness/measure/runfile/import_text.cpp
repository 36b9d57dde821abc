#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "measure/runfile/import_sources.hpp"

namespace peakmark::import_sources {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

void append_utf8(std::string& text, char32_t code) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  const auto add_tail = [&](unsigned shift) { add(0x80U | (code >> shift & 0x3FU)); };
  if (code < 0x80) return add(code);
  if (code < 0x800) {
    add(0xC0U | code >> 6U);
  } else if (code < 0x10000) {
    add(0xE0U | code >> 12U);
    add_tail(6);
  } else {
    add(0xF0U | code >> 18U);
    add_tail(12);
    add_tail(6);
  }
  add_tail(0);
}

/// Returns the UTF-8 of a text that begins with the byte order mark of UTF-16; null for other texts.
std::optional<std::string> from_utf16(std::string_view text) {
  const bool is_little = text.starts_with("\xFF\xFE");
  if (!is_little && !text.starts_with("\xFE\xFF")) return std::nullopt;
  const auto unit = [&](std::size_t at) -> char32_t {
    const auto byte = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
    return is_little ? byte(at) | byte(at + 1) << 8U : byte(at + 1) | byte(at) << 8U;
  };
  std::string utf8;
  utf8.reserve(text.size() / 2);
  for (std::size_t at = 2; at + 1 < text.size(); at += 2) {
    char32_t code = unit(at);
    const bool is_high = code >= 0xD800 && code < 0xDC00;
    const char32_t low = is_high && at + 3 < text.size() ? unit(at + 2) : 0;
    if (low >= 0xDC00 && low < 0xE000) {
      code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
      at += 2;
    } else if (code >= 0xD800 && code < 0xE000) {
      code = kReplacement;
    }
    append_utf8(utf8, code);
  }
  return utf8;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

std::string without(std::string_view text, char separator) {
  std::string rest(text);
  std::erase(rest, separator);
  return rest;
}

/// Returns true for `1,234,000`, and for the Indian form `12,34,000`: the last group has three digits.
bool is_grouped(std::string_view token, char separator) {
  if (token.starts_with('-')) token.remove_prefix(1);
  const std::size_t first = token.find(separator);
  const std::size_t last = token.rfind(separator);
  if (first == std::string_view::npos || first > 3 || token.size() - last != 4) return false;
  for (std::size_t at = first; at < last;) {
    const std::size_t next = token.find(separator, at + 1);
    if (next - at < 3 || next - at > 4) return false;
    at = next;
  }
  return are_digits(without(token, separator));
}

/// Returns true for texts that C++ libraries print for infinity or NaN: `inf`, `-nan(ind)`, `1.#QNAN`.
bool is_not_finite(std::string_view token) {
  if (token.starts_with('-') || token.starts_with('+')) token.remove_prefix(1);
  std::string word(token.substr(0, 3));
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
  return word == "nan" || word == "inf" || token.find(".#") != std::string_view::npos;
}

/// Rewrites a text in one pass from its beginning to its end.
class Rewriter {
 public:
  /// `dots_group`: `1.234` is 1234, because of the program's locale.
  Rewriter(std::string_view text, bool dots_group) : text_(text), dots_group_(dots_group) {
    result_.json.reserve(text.size());
  }

  ImportText run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        take_string();
      } else if (is_blank(c) || c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':') {
        take_mark(c);
      } else {
        take_value();
      }
    }
    return std::move(result_);
  }

  /// Returns true if the integers of the file are grouped with dots, so that `1.234` is not a fraction.
  [[nodiscard]] bool has_dot_groups() const { return has_dot_group_ && !has_plain_thousands_; }

 private:
  void take_mark(char c) {
    if (c == '{' || c == '[') open_ += c;
    if ((c == '}' || c == ']') && !open_.empty()) open_.pop_back();
    if (!is_blank(c)) last_ = c;
    result_.json += c;
    ++at_;
  }

  [[nodiscard]] bool is_in_object() const { return open_.ends_with('{'); }
  [[nodiscard]] char peek(std::size_t place) const { return place < text_.size() ? text_[place] : '\0'; }

  /// Returns true if the quotation mark here ends a string: in JSON it is followed by a mark or a blank.
  [[nodiscard]] bool is_end_of_string(std::size_t quote) const {
    const char next = peek(quote + 1);
    return next == '\0' || is_blank(next) || next == ',' || next == ':' || next == '}' || next == ']';
  }

  /// Returns true if the line ends after this quotation mark, as it does after each value of Google
  /// Benchmark.
  [[nodiscard]] bool is_end_of_line(std::size_t quote) const {
    const std::size_t next = peek(quote + 1) == ',' ? quote + 2 : quote + 1;
    return peek(next) == '\n' || (peek(next) == '\r' && peek(next + 1) == '\n');
  }

  [[nodiscard]] bool is_escape(std::size_t backslash) const {
    const char next = peek(backslash + 1);
    if (next == '"') return !is_end_of_line(backslash + 1);
    if (next != 'u') return next != '\0' && std::string_view("\\/bfnrt").find(next) != std::string_view::npos;
    for (std::size_t digit = backslash + 2; digit < backslash + 6; ++digit) {
      if (std::isxdigit(static_cast<unsigned char>(peek(digit))) == 0) return false;
    }
    return true;
  }

  void take_string() {
    if (is_in_object() && last_ == '"') {
      result_.json += ',';
      note("a comma before custom context is missing, as Google Benchmark 1.5.4 and 1.5.5 write it");
    }
    const std::size_t first = result_.json.size();
    result_.json += text_[at_++];
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' && is_end_of_string(at_)) break;
      if (c == '\\' && is_escape(at_)) {
        result_.json += c;
        result_.json += text_[at_ + 1];
        at_ += 2;
        continue;
      }
      if (c == '"' || c == '\\') {
        result_.json += '\\';
        note_escape();
      }
      if (static_cast<unsigned char>(c) < 0x20) {
        result_.json += fmt::format("\\u{:04x}", c);
        note_escape();
      } else {
        result_.json += c;
      }
      ++at_;
    }
    if (at_ < text_.size()) result_.json += text_[at_++];
    if (last_ != ':') key_.assign(result_.json, first);
    last_ = '"';
  }

  /// Returns the end of the value that begins here. A comma or a blank between two digits in an object is
  /// part of a number.
  [[nodiscard]] std::size_t end_of_value() const {
    std::size_t end = at_ + 1;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '}' || c == ']' || c == '"' || c == ':' || c == '{' || c == '[') break;
      const bool is_between_digits = is_in_object() && is_digit(text_[end - 1]) && is_digit(peek(end + 1));
      if ((c == ',' || is_blank(c)) && !(is_between_digits && (c == ',' || c == ' '))) break;
    }
    return end;
  }

  void take_value() {
    const std::size_t end = end_of_value();
    const std::string_view token = text_.substr(at_, end - at_);
    at_ = end;
    last_ = 'v';
    note_integer(token);
    result_.json += value(token);
  }

  std::string value(std::string_view token) {
    if (is_not_finite(token)) return "null";
    if (token.ends_with('%') && parse_number<double>(token.substr(0, token.size() - 1)))
      return std::string(token.substr(0, token.size() - 1)) + "e-2";
    for (const char separator : {',', '.', '\'', ' '}) {
      if (!is_grouped(token, separator)) continue;
      if (separator == '.' && !dots_group_ && std::ranges::count(token, '.') < 2) continue;
      std::string number = without(token, separator);
      note(fmt::format("numbers are grouped by the program's locale, as Google Benchmark before 1.9.5 writes "
                       "them: the first, {}, was read as {}",
                       token, number),
           "grouped");
      return number;
    }
    std::string number(token);
    if (std::ranges::count(number, ',') == 1) {
      std::ranges::replace(number, ',', '.');
      if (!parse_number<double>(number)) return std::string(token);
      note(fmt::format("numbers have the decimal comma of the program's locale, as Google Benchmark writes "
                       "them: the first, {}, was read as {}",
                       token, number),
           "decimal");
    }
    return number;
  }

  /// Notes how the file writes numbers that are integers in every release.
  void note_integer(std::string_view token) {
    if (key_ != "\"iterations\"" && key_ != "\"mhz_per_cpu\"") return;
    has_dot_group_ = has_dot_group_ || is_grouped(token, '.');
    has_plain_thousands_ = has_plain_thousands_ || (token.size() > 3 && are_digits(token));
  }

  void note_escape() {
    note(
        "backslashes, quotation marks or line breaks in texts are not escaped, as Google Benchmark before "
        "1.5.0 writes them; they were read as they are");
  }

  /// Adds a note; of each `kind` only the first.
  void note(const std::string& text, const std::string& kind = {}) {
    if (noted_.insert(kind.empty() ? text : kind).second) result_.notes.push_back(text);
  }

  std::string_view text_;
  bool dots_group_;
  std::size_t at_ = 0;
  std::string open_;  ///< the open brackets at this place
  char last_ = '\0';  ///< the last non-blank: a mark, `"` for a string, `v` for another value
  std::string key_;   ///< the last key, with its quotation marks
  bool has_dot_group_ = false;
  bool has_plain_thousands_ = false;
  std::set<std::string> noted_;
  ImportText result_;
};

}  // namespace

ImportText json_text(std::string_view text) {
  const std::string utf8 = valid_text(from_utf16(text).value_or(std::string(text)));
  Rewriter rewriter(utf8, false);
  ImportText result = rewriter.run();
  return rewriter.has_dot_groups() ? Rewriter(utf8, true).run() : result;
}

}  // namespace peakmark::import_sources
