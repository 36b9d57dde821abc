#include "measure/external/note_on_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/text.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark {
namespace {

constexpr std::size_t kMaxListed = 8;

const std::vector<std::string>& words() {
  static const std::vector<std::string> words{"setup", "inputs", "outputs", "call", "end"};
  return words;
}

std::vector<std::string> parts_of(std::string_view phase) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t slash = phase.find('/');
    parts.emplace_back(phase.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    phase.remove_prefix(slash + 1);
  }
}

bool has_word(const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts,
                             [](const std::string& part) { return std::ranges::count(words(), part) != 0; });
}

bool is_marked(const std::vector<std::string>& phases, const std::string& word) {
  return std::ranges::any_of(
      phases, [&](const std::string& phase) { return std::ranges::count(parts_of(phase), word) != 0; });
}

/// An unknown phase, and the phase that was probably meant.
struct Misspelt {
  std::string name;
  std::string word;
};

/// Returns the phases that are probably misspelt. If the program also marks the similar phase, that is not
/// the intended one.
std::vector<Misspelt> misspelt_among(const std::vector<std::string>& phases) {
  std::vector<Misspelt> found;
  for (const std::string& phase : phases) {
    const std::vector<std::string> parts = parts_of(phase);
    if (has_word(parts)) continue;
    for (const std::string& part : parts) {
      const std::string word(nearest_word(part, words()));
      const bool is_known = std::ranges::count(found, part, &Misspelt::name) != 0;
      if (!word.empty() && !is_known && !is_marked(phases, word)) found.push_back({part, word});
    }
  }
  return found;
}

/// Returns false for short words, which resemble many others: `send` is not a misspelt `end`.
bool is_sure(const Misspelt& one) {
  constexpr std::size_t kLongWord = 5;
  return one.word.size() >= kLongWord || one.name.size() == one.word.size();
}

std::string list_of(std::vector<std::string> names) {
  for (std::string& name : names) name = "'" + one_line(name) + "'";
  return first_names(names, kMaxListed);
}

std::string question_on(const std::vector<Misspelt>& misspelt) {
  std::string text;
  for (const Misspelt& one : misspelt) {
    text +=
        fmt::format("{} '{}' by '{}'", text.empty() ? "; did you mean" : ",", one.word, one_line(one.name));
  }
  return text.empty() ? text : text + "?";
}

}  // namespace

std::string note_on_marks(const std::vector<std::string>& phases, const std::vector<std::string>& left_out) {
  std::vector<std::string> all = phases;
  all.insert(all.end(), left_out.begin(), left_out.end());
  if (all.empty()) return "";
  std::vector<Misspelt> misspelt = misspelt_among(all);
  if (!is_marked(phases, "call")) {
    return fmt::format("measured whole: the program marks {}, but no 'call'{}", list_of(all),
                       question_on(misspelt));
  }
  std::erase_if(misspelt, [](const Misspelt& one) { return !is_sure(one); });
  if (misspelt.empty()) return "";
  return fmt::format("unknown phase: the phases of a suite are setup, inputs, outputs, call and end{}",
                     question_on(misspelt));
}

}  // namespace peakmark
