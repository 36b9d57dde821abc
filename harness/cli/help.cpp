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
constexpr std::size_t kOptionWidth = 26;  // of `--output RUN`; the description of a longer one is below it

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

std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

HelpEntry option_entry(const CLI::Option& option) {
  const std::vector<std::string> words = choices(option);
  std::string value = words.empty() || option.get_positional() ? placeholder(option)
                                                               : fmt::format("{{{}}}", fmt::join(words, ","));
  if (max_values(option) == kAnyNumber) value += "...";
  if (max_values(option) == 2) value += " " + value;
  return {fmt::format("{}", fmt::join(option_names(option), ",")), value, full_description(option)};
}

std::string usage(const CLI::App& command) {
  std::string text = command.get_prefix_command() ? "[OPTIONS] [--]" : "[OPTIONS]";
  for (const CLI::Option* const one : positionals(command)) {
    const std::string value = option_entry(*one).value;
    text += " " + (one->get_required() ? value : "[" + value + "]");
  }
  if (command.get_prefix_command()) text += " [ARGUMENT...]";
  if (subcommands(command).empty()) return text;
  return text + (command.get_require_subcommand_min() > 0 ? " COMMAND" : " [COMMAND]");
}

HelpSection detail(const std::string& title, const HelpText::Entries& entries) {
  HelpSection section{title, {}};
  for (const auto& [term, meaning] : entries) section.entries.push_back({term, "", meaning});
  return section;
}

std::string words_of(const HelpEntry& entry) {
  return entry.term + (entry.term.empty() || entry.value.empty() ? "" : " ") + entry.value;
}

/// `width`: of the terms; the meaning of a longer one is below it.
std::string section_text(const HelpSection& section, std::size_t width) {
  std::string text = fmt::format("\n{}:\n", section.title);
  const std::string indent(width + 4, ' ');
  for (const HelpEntry& entry : section.entries) {
    const std::string words = words_of(entry);
    text += words.size() > width ? fmt::format("  {}\n{}", words, indent)
                                 : fmt::format("  {:<{}}  ", words, width);
    text += wrapped(entry.meaning, kLineWidth - indent.size(), indent) + "\n";
  }
  return text;
}

std::string page_text(const HelpPage& page) {
  std::string text = fmt::format("{}\nUsage: {} {}\n", page.description, page.name, page.usage);
  for (const HelpSection& section : page.options) text += section_text(section, kOptionWidth);
  if (!page.notes.empty()) text += "\n";
  for (const std::string& note : page.notes) text += wrapped(note, kLineWidth) + "\n";
  for (const HelpSection& section : page.details) {
    std::size_t width = 0;
    for (const HelpEntry& entry : section.entries) width = std::max(width, entry.term.size());
    text += section_text(section, width);
  }
  return text;
}

/// Holds the HelpText of a command, and prints its page for --help.
class HelpFormatter : public CLI::FormatterBase {
 public:
  HelpFormatter(const CLI::App& command, HelpText text) : command_(&command), text_(std::move(text)) {}
  /// Throws std::logic_error for a subcommand without help of its own, which inherits this formatter.
  [[nodiscard]] const HelpText& text(const CLI::App& command) const {
    if (&command != command_) throw std::logic_error(command.get_name() + " has no help: call set_help()");
    return text_;
  }
  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode /*mode*/) const override {
    return page_text(help_page(*app));
  }

 private:
  const CLI::App* command_;
  HelpText text_;
};

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

HelpPage help_page(const CLI::App& command) {
  const HelpText& text = dynamic_cast<const HelpFormatter&>(*command.get_formatter()).text(command);
  HelpPage page{full_name(command), command.get_description(), usage(command), {}, text.notes, {}};
  const auto add = [&page](const std::string& title, HelpEntry entry) {
    auto section = std::ranges::find(page.options, title, &HelpSection::title);
    if (section == page.options.end()) section = page.options.insert(section, {title, {}});
    section->entries.push_back(std::move(entry));
  };
  for (const CLI::Option* const one : positionals(command)) add("Arguments", option_entry(*one));
  for (const CLI::Option* const one : shown_options(command)) add(one->get_group(), option_entry(*one));
  for (const CLI::App* const one : subcommands(command))
    add("Commands", {one->get_name(), "", one->get_description()});
  page.details.push_back(detail("Exit codes", text.exit_codes));
  for (const HelpText::Section& section : text.sections)
    page.details.push_back(detail(section.title, section.entries));
  return page;
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
