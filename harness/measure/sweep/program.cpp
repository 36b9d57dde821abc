#include "measure/sweep/program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/error.hpp"
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
                              const ProgramPlaces& places) {
  std::string filled;
  take_apart(
      text, [&](std::string_view plain) { filled += plain; },
      [&](std::string_view name) {
        const AxisValue* value = parameters.find(name);
        filled += value != nullptr ? to_text(*value) : fill_value(name, places);
      });
  return filled;
}

std::vector<std::string> make_command(const ProgramDescription& program, const Parameters& parameters,
                                      const ProgramPlaces& places) {
  std::vector<std::string> words;
  words.reserve(program.command.size());
  for (const std::string& word : program.command)
    words.push_back(fill_placeholders(word, parameters, places));
  return words;
}

}  // namespace peakmark
