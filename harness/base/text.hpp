#pragma once

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

// Text for users: messages, tables, markdown, command lines. Sizes are in size.hpp, tables in text_table.hpp.
namespace peakmark {

// Text from outside: names, messages of programs, command lines

/// Returns `text` with U+FFFD for each control character except tab, newline and carriage return, and for
/// each byte that is not UTF-8. Text that a CI system would execute as a command of its log gets backslashes.
/// The result is safe for a terminal and allowed in XML 1.0. For data, use valid_text(), which keeps
/// the text.
std::string plain_text(std::string_view text);

/// Returns `text` with `hash` instead of the second # of `##[error]` (GitHub) and `##vso[…]` (Azure), which
/// are commands anywhere in a log.
std::string without_log_commands(std::string text, std::string_view hash);

/// Returns `text` as one line for a terminal: control characters (tab and newline too) and bytes that are not
/// UTF-8 become escapes such as `\n`, `\x1b`, `\u009b`; commands of a log get backslashes.
std::string one_line(std::string_view text);

/// Returns `text`. If it is longer than `max_bytes` (at least 4), returns its beginning and its end, together
/// `max_bytes` long, with the number of omitted bytes between them. Never splits a UTF-8 character.
std::string shortened(std::string_view text, std::size_t max_bytes);

/// Returns `text`. If it has more than `max` characters (at least 3), returns its beginning and end with `…`
/// between them, because the end of a command line or a case name is the most informative part.
std::string cut_in_middle(std::string_view text, std::size_t max);

/// Returns `text` as one word for a POSIX shell, quoted if necessary. Uses valid_text() if it quotes.
std::string shell_word(std::string_view text);

/// Returns all bytes of `text` as one word for a POSIX shell, quoted if necessary. For scripts. Never use it
/// inside other quotes or in a comment. For messages there is shell_word().
std::string script_word(std::string_view text);

/// Returns `text` without the control sequences of terminals (ECMA-48): colours, cursor movements, titles,
/// links. So the output of a program for a terminal can be used in messages.
std::string without_terminal_codes(std::string_view text);

/// A character of a text that may not be UTF-8.
struct Character {
  std::size_t bytes = 1;
  /// Allowed in XML 1.0, and not a control character except tab, newline, carriage return.
  bool is_plain = false;
  std::uint32_t code = 0;  ///< the byte itself if it does not begin a character
  bool is_utf8 = false;
};

/// Returns the first character by RFC 3629, or the first byte if it does not begin one. `text` is not empty.
Character first_character(std::string_view text);

/// Returns `text` with U+FFFD for each character that is not plain. For data; plain_text() is for users.
std::string valid_text(std::string_view text);

// Numbers and moments

/// Returns the number in `text`, which must contain nothing else, not even blanks; nullopt for other text,
/// and for a number that does not fit the type.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

/// Returns a number with its noun: `1 case`, `2 cases`. `many`: the plural if it is not `one` with an s, as
/// in quantity(count, "case is", "cases are").
template <std::integral Count>
std::string quantity(Count count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count);
  text += ' ';
  if (count == 1 || many.empty()) text += one;
  if (count != 1) text += many.empty() ? std::string_view("s") : many;
  return text;
}

/// Returns the first `max` names and the number of the others: `a, b, c and 22 more`.
std::string first_names(const std::vector<std::string>& names, std::size_t max);

/// Returns nanoseconds with a unit and at most four digits: `850 ns`, `1.5 us`, `12.3 ms`, `2 s`.
std::string format_duration(double nanoseconds);

/// Returns a time in the form of files: `2026-01-31T02:00:00Z`.
std::string utc_date(std::chrono::system_clock::time_point when = std::chrono::system_clock::now());

/// Returns the first 12 digits of a commit, and the `+` that marks uncommitted changes.
std::string short_commit(std::string_view commit);

// Markdown. GitHub and GitLab render it, so text from outside must not end a cell or become a link, an image,
// a mention or a tag. reports/peakmark_reports/ci_forms does the same in Python; markdown_cases.inc tests
// both.

/// In bytes. GitHub refuses a summary of 1 MiB; a shortened one says what it omits.
inline constexpr std::size_t kMarkdownLimit = 1'000'000;

/// Returns `text` escaped for a table cell or a line; several lines become one.
std::string markdown_cell(std::string_view text);

/// Returns `name` in backticks. A backtick or a bar in it becomes a similar character. Returns an
/// empty text for an empty name.
std::string markdown_code(std::string_view name);

/// Prints a message, usually to standard error. Unlike fmt::print, it ignores write errors: a log on a full
/// disk must not end an hour of measuring.
template <typename... Values>
void print_message(std::FILE* stream, fmt::format_string<Values...> text, Values&&... values) {
  const std::string line = fmt::format(text, std::forward<Values>(values)...);
  std::fwrite(line.data(), 1, line.size(), stream);
}

}  // namespace peakmark
