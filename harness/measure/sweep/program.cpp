#include "measure/sweep/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "base/script_word.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

/// Calls `plain` with each piece of plain text and `placeholder` with each name in braces.
void take_apart(std::string_view text, const std::function<void(std::string_view)>& plain,
                const std::function<void(std::string_view)>& placeholder) {
  const std::string_view whole = text;
  while (!text.empty()) {
    const std::size_t brace = text.find_first_of("{}");
    if (brace == std::string_view::npos) break;
    plain(text.substr(0, brace));
    const bool doubled = brace + 1 < text.size() && text[brace + 1] == text[brace];
    if (doubled) {
      plain(text.substr(brace, 1));
      text.remove_prefix(brace + 2);
      continue;
    }
    const std::size_t end = text.find('}', brace);
    if (text[brace] == '}' || end == std::string_view::npos) {
      throw UsageError(fmt::format("unbalanced '{}' in '{}': write '{}{}' for a brace", text[brace], whole,
                                   text[brace], text[brace]));
    }
    placeholder(text.substr(brace + 1, end - brace - 1));
    text.remove_prefix(end + 1);
  }
  plain(text);
}

std::string fill_value(std::string_view name, const ProgramPlaces& places) {
  if (name == "suite_folder") return places.suite_folder;
  if (name == "python") return places.python;
  if (name == "backend") return places.backend;
  if (name == "device") return places.device;
  return places.scratch_folder;
}

/// The context of a value in a shell's text.
enum class ShellPlace : std::uint8_t { plain, single_quotes, double_quotes, backticks, comment };

/// Returns the context after `text`.
ShellPlace shell_place_after(std::string_view text) {
  std::vector<ShellPlace> open{ShellPlace::plain};  // contexts opened by `$(` and quotes
  std::vector<int> brackets{0};                     // for each plain context
  const auto enter = [&](ShellPlace place) {
    open.push_back(place);
    brackets.push_back(0);
  };
  const auto leave = [&] {
    open.pop_back();
    brackets.pop_back();
  };
  bool begins_word = true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    const bool began_word =
        std::exchange(begins_word, letter == ' ' || letter == '\t' || letter == '\n' || letter == ';' ||
                                       letter == '&' || letter == '|' || letter == '(');
    switch (open.back()) {
      case ShellPlace::comment:
        if (letter == '\n') leave();
        break;
      case ShellPlace::single_quotes:
        if (letter == '\'') leave();
        break;
      case ShellPlace::backticks:
        if (letter == '\\') ++at;
        if (letter == '`') leave();
        break;
      case ShellPlace::double_quotes:
      case ShellPlace::plain: {
        const bool is_plain = open.back() == ShellPlace::plain;
        if (letter == '\\') {
          ++at;
        } else if (letter == '`') {
          enter(ShellPlace::backticks);
        } else if (letter == '"') {
          is_plain ? enter(ShellPlace::double_quotes) : leave();
        } else if (letter == '$' && at + 1 < text.size() && text[at + 1] == '(') {
          ++at;
          enter(ShellPlace::plain);
        } else if (is_plain && letter == '\'') {
          enter(ShellPlace::single_quotes);
        } else if (is_plain && letter == '#' && began_word) {
          enter(ShellPlace::comment);
        } else if (is_plain && letter == '(') {
          ++brackets.back();
        } else if (is_plain && letter == ')') {
          if (brackets.back() > 0) {
            --brackets.back();
          } else if (open.size() > 1) {
            leave();
          }
        }
      }
    }
  }
  return open.back();
}

/// Returns `text` with `escape` before each of `letters`.
std::string escaped(const std::string& text, std::string_view letters, const std::string& escape) {
  std::string written;
  for (const char letter : text) {
    if (letters.find(letter) != std::string_view::npos) written += escape;
    written += letter;
  }
  return written;
}

/// Returns `value` quoted for /bin/sh in the context after `before`.
std::string for_shell(const std::string& value, std::string_view before) {
  switch (shell_place_after(before)) {
    case ShellPlace::plain:
      return script_word(value);
    case ShellPlace::single_quotes:
      return escaped(value, "'", "'\\'");  // closes the quotes, adds one, opens them again
    case ShellPlace::double_quotes:
      return escaped(value, "$`\"\\", "\\");
    case ShellPlace::backticks:
      // Backticks remove a further level of backslashes, so these letters cannot be quoted safely.
      if (value.find_first_of("$`\"'\\") != std::string::npos) {
        throw UsageError(fmt::format("cannot quote '{}' in backticks: use $(…)", value));
      }
      return script_word(value);
    case ShellPlace::comment:
      return "";
  }
  return script_word(value);
}

}  // namespace

const std::vector<std::string>& program_place_names() {
  static const std::vector<std::string> names{"suite_folder", "python", "backend", "device",
                                              "scratch_folder"};
  return names;
}

void check_placeholders(std::string_view text, const VariantDescription& variant) {
  take_apart(
      text, [](std::string_view) {},
      [&](std::string_view name) {
        std::vector<std::string> known = variant.axis_names();
        known.insert(known.end(), program_place_names().begin(), program_place_names().end());
        if (std::ranges::find(known, name) != known.end()) return;
        throw UsageError(
            fmt::format("unknown placeholder '{{{}}}' in '{}'{}", name, text, suggest_word(name, known)));
      });
}

std::string fill_placeholders(std::string_view text, const Parameters& parameters,
                              const ProgramPlaces& places, const QuoteValue& quote) {
  std::string filled;
  take_apart(
      text, [&](std::string_view plain) { filled += plain; },
      [&](std::string_view name) {
        const AxisValue* value = parameters.find(name);
        const std::string word = value != nullptr ? to_text(*value) : fill_value(name, places);
        filled += quote ? quote(word, filled) : word;
      });
  return filled;
}

std::vector<std::string> make_command(const ProgramDescription& program, const Parameters& parameters,
                                      const ProgramPlaces& places) {
  if (program.shell) {
    return {"/bin/sh", "-c", fill_placeholders(program.command.front(), parameters, places, for_shell)};
  }
  std::vector<std::string> words;
  words.reserve(program.command.size());
  for (const std::string& word : program.command) {
    words.push_back(fill_placeholders(word, parameters, places, nullptr));
  }
  return words;
}

}  // namespace peakmark
