#include "cli/command_words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"

namespace peakmark::cli {
namespace {

/// Reads an option, as `--name`, `--name=value`, `-n` or `-nvalue`.
void read_option(ReadWords& at, const std::string& word) {
  const std::string name = word.substr(0, word.starts_with("--") ? word.find('=') : 2);
  const CLI::Option* const option = at.command->get_option_no_throw(name);
  if (option == nullptr) {
    if (at.unknown_option.empty()) at.unknown_option = name;
    return;
  }
  at.used.insert(option);
  if (name == word) {
    at.pending = option;
    at.values_left = max_values(*option);
  }
}

}  // namespace

ReadWords read_words(const CLI::App& app, std::span<const std::string> words) {
  ReadWords at{.command = &app};
  for (std::size_t i = 0; i < words.size() && !at.program; ++i) {
    const std::string& word = words[i];
    const bool is_option = word.starts_with('-') && word.size() > 1 && !at.options_ended;
    if (at.values_left > 0 && !is_option) {
      --at.values_left;
      continue;
    }
    at.values_left = 0;
    const CLI::App* const below = at.values.empty() ? find_subcommand(*at.command, word) : nullptr;
    if (word == "--" && !at.options_ended) {
      at.options_ended = true;
      if (at.command->get_prefix_command()) at.program = i + 1;
    } else if (is_option) {
      read_option(at, word);
    } else if (below != nullptr) {
      at = {.command = below};
    } else if (at.command->get_prefix_command()) {
      at.program = i;
    } else {
      at.values.push_back(word);
    }
  }
  return at;
}

std::optional<std::vector<std::string>> program_after_dashes(const std::vector<std::string>& words) {
  const auto dashes = std::ranges::find(words, "--");
  if (dashes == words.end()) return std::nullopt;
  return std::vector<std::string>(dashes + 1, words.end());
}

std::vector<std::string> separate_program(const CLI::App& app, std::vector<std::string> words) {
  constexpr std::array kReadProgram{"bisect", "fit", "oom", "slurm"};
  const bool reads_program =
      !words.empty() && std::ranges::find(kReadProgram, words.front()) != kReadProgram.end();
  if (reads_program) words.erase(std::ranges::find(words, "--"), words.end());
  const ReadWords read = read_words(app, words);
  if (!read.command->get_prefix_command()) return words;
  if (!read.unknown_option.empty())
    throw UsageError(read.command->get_name() + ": " +
                     unknown_option_message(*read.command, read.unknown_option));
  if (read.program && words[*read.program - 1] != "--")
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(*read.program), "--");
  return words;
}

}  // namespace peakmark::cli
