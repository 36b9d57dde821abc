#include "cli/help.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "analyse/history/address.hpp"
#include "cli/options.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark::cli {
namespace {

constexpr std::size_t kLineWidth = 100;
constexpr std::size_t kDescriptionColumn = 30;

/// Breaks `text` into lines of at most `width` characters; later lines begin with `indent`.
std::string wrapped(std::string_view text, std::size_t width, const std::string& indent = "") {
  std::string lines;
  std::size_t column = 0;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const auto characters = static_cast<std::size_t>(std::ranges::count_if(
        word, [](char letter) { return (static_cast<std::uint8_t>(letter) & 0xC0U) != 0x80U; }));
    if (column > 0 && column + 1 + characters > width) {
      lines += "\n" + indent;
      column = 0;
    } else if (column > 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += characters;
  }
  return lines;
}

std::string entries_text(const HelpText::Entries& entries) {
  std::size_t width = 0;
  for (const auto& [term, meaning] : entries) width = std::max(width, term.size());
  std::string text;
  for (const auto& [term, meaning] : entries) {
    text += fmt::format("  {:<{}}  {}\n", term, width,
                        wrapped(meaning, kLineWidth - width - 4, std::string(width + 4, ' ')));
  }
  return text;
}

/// Prints help in the layout of CLI11, including the HelpText of a command.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter(const CLI::App& command, HelpText help) : command_(&command), help_(std::move(help)) {
    column_width(kDescriptionColumn);
  }
  /// Throws std::logic_error for a subcommand without help of its own, which inherits this formatter.
  [[nodiscard]] const HelpText& help(const CLI::App& command) const {
    if (&command != command_) throw std::logic_error(command.get_name() + " has no help: call set_help()");
    return help_;
  }

  std::string make_footer(const CLI::App* app) const override {
    const HelpText& shown = help(*app);
    std::string text;
    for (const std::string& note : shown.notes) text += wrapped(note, kLineWidth) + "\n";
    if (!shown.notes.empty()) text += "\n";
    text += "Exit codes:\n" + entries_text(shown.exit_codes);
    for (const HelpText::Section& section : shown.sections) {
      text += fmt::format("\n{}:\n{}", section.title, entries_text(section.entries));
    }
    return text;
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return is_positional ? placeholder(*option) : CLI::Formatter::make_option_name(option, is_positional);
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::vector<std::string> words = choices(*option);
    std::string text;
    if (!option->get_positional())
      text = words.empty() ? placeholder(*option) : fmt::format("{{{}}}", fmt::join(words, ","));
    if (max_values(*option) == kAnyNumber) text += "...";
    if (max_values(*option) == 2) text += " " + text;
    return text.empty() || option->get_positional() ? text : " " + text;
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    return wrapped(full_description(*option), kLineWidth - kDescriptionColumn);
  }

 private:
  const CLI::App* command_;
  HelpText help_;
};

std::string sentence(std::string text) {
  const bool has_end = text.ends_with('.') || text.ends_with('?') || text.ends_with("…");
  if (!text.empty() && !has_end) text += '.';
  return text;
}

std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const CLI::Option* option : options) {
    names.push_back(option->get_positional() ? placeholder(*option) : option_names(*option).back());
  }
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Returns the first unknown word that looks like an option. Words after `--` are not options of peakmark.
std::string unknown_option(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word == "--") break;
    if (word.size() > 1 && word.front() == '-') return word.substr(0, word.find('='));
  }
  return {};
}

/// CLI11 reports a missing word before a wrong one. A misspelt word is the cause, so it is reported first.
std::string problem(const CLI::App& command, const CLI::Error& error) {
  if (const std::string option = unknown_option(command); !option.empty()) {
    return unknown_option_message(command, option);
  }
  if (!subcommands(command).empty() && !command.remaining().empty()) {
    return unknown_command_message(command, command.remaining().front());
  }
  return error.what();
}

}  // namespace

void set_help(CLI::App& command, HelpText help) {
  command.formatter(std::make_shared<HelpFormatter>(command, std::move(help)));
}

const HelpText& help_of(const CLI::App& command) {
  return dynamic_cast<const HelpFormatter&>(*command.get_formatter()).help(command);
}

std::string full_description(const CLI::Option& option) {
  std::string text = sentence(option.get_description());
  if (option.get_positional() && !choices(option).empty()) {
    text += fmt::format(" One of {}.", fmt::join(choices(option), ", "));
  }
  if (option.get_required() && !option.get_positional()) text += " Required.";
  if (is_repeatable(option) && max_values(option) == 1) text += " May be repeated.";
  if (!option.get_default_str().empty()) text += fmt::format(" Default: {}.", option.get_default_str());
  if (!option.get_envname().empty()) text += fmt::format(" Default: ${}.", option.get_envname());
  if (!option.get_needs().empty()) text += fmt::format(" Needs {}.", names_of(option.get_needs()));
  if (!option.get_excludes().empty()) text += fmt::format(" Not with {}.", names_of(option.get_excludes()));
  return text;
}

std::string unknown_command_message(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* one : subcommands(command)) names.push_back(one->get_name());
  return fmt::format("no command '{}'{}", word, suggest_word(word, names));
}

std::string unknown_option_message(const CLI::App& command, const std::string& option) {
  std::vector<std::string> names;
  for (const CLI::Option* one : command.get_options()) {
    for (const std::string& name : one->get_lnames()) names.push_back("--" + name);
  }
  const std::string_view nearest = nearest_word(option, names);
  return fmt::format("no option '{}'{}", option,
                     nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = app;
  std::string name;
  while (!command->get_subcommands().empty()) {  // `history add` has two levels
    command = command->get_subcommands().front();
    name += " " + command->get_name();
  }
  return fmt::format("peakmark{}: {}\nSee: peakmark{} --help\n", name,
                     history::hide_passwords(problem(*command, error)), name);
}

}  // namespace peakmark::cli
