#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"

namespace peakmark::cli {
namespace {

struct ManualOptions {
  std::vector<std::string> command;
  std::filesystem::path folder;
};

/// Escapes text for roff. There, `-` is a dash, and a backslash begins a request, as do `.` and `'` at the
/// beginning of a line.
std::string roff(std::string_view text) {
  std::string result;
  if (!text.empty() && (text.front() == '.' || text.front() == '\'')) result = "\\&";
  for (const char letter : text) {
    switch (letter) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '~':
        result += "\\(ti";
        break;
      case '^':
        result += "\\(ha";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + roff(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return result;
}

std::string heading(std::string_view name) {
  return ".SH " + roff(upper(name)) + "\n";
}

/// `term` must already be roff.
std::string list_entry(const std::string& term, std::string_view meaning) {
  return ".TP\n" + term + "\n" + roff(meaning) + "\n";
}

/// Returns the words of a command, from peakmark on: `peakmark history add`.
std::string full_name(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return (parent == nullptr ? "" : full_name(*parent) + " ") + command.get_name();
}

/// Returns the name of a manual page without its section: `peakmark-history-add`.
std::string page_name(const CLI::App& command) {
  std::string name = full_name(command);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string page_reference(const CLI::App& command) {
  return "\\%" + bold(page_name(command)) + "(1)";
}

std::string value_text(const CLI::Option& option) {
  std::string text;
  for (const std::string& word : choices(option)) text += (text.empty() ? "" : "|") + bold(word);
  if (text.empty()) text = italic(placeholder(option));
  if (max_values(option) == kAnyNumber) return text + "...";
  return max_values(option) == 2 ? text + " " + text : text;
}

std::string option_entry(const CLI::Option& option) {
  std::string term;
  for (const std::string& name : option_names(option)) term += (term.empty() ? "" : ", ") + bold(name);
  if (option.get_positional()) term = italic(placeholder(option));
  if (!option.get_positional() && max_values(option) > 0) term += " " + value_text(option);
  return list_entry(term, full_description(option));
}

std::string synopsis(const CLI::App& command) {
  std::string text = heading("Synopsis") + bold(full_name(command));
  if (!shown_options(command).empty()) text += " [" + italic("OPTION") + "]...";
  for (const CLI::Option* option : positionals(command)) {
    const std::string word = italic(placeholder(*option)) + (max_values(*option) > 1 ? "..." : "");
    if (command.get_prefix_command()) text += " [" + bold("--") + "]";
    text += option->get_required() ? " " + word : " [" + word + "]";
  }
  if (command.get_prefix_command()) text += " [" + italic("ARGUMENT") + "...]";
  if (subcommands(command).empty()) return text + "\n";
  const std::string below = italic("COMMAND") + " ...";
  return text + (command.get_require_subcommand_min() > 0 ? " " + below : " [" + below + "]") + "\n";
}

std::string options_part(const CLI::App& command) {
  std::string text;
  for (const CLI::App* one : subcommands(command)) {
    text += text.empty() ? heading("Commands") : "";
    text += list_entry(page_reference(*one), one->get_description() + ".");
  }
  if (const auto all = positionals(command); !all.empty()) {
    text += heading("Arguments");
    for (const CLI::Option* option : all) text += option_entry(*option);
  }
  std::string group;
  for (const CLI::Option* option : shown_options(command)) {
    if (option->get_group() != group) text += heading(group = option->get_group());
    text += option_entry(*option);
  }
  return text;
}

std::string help_part(const HelpText& help) {
  std::string text;
  for (const std::string& note : help.notes) {
    text += (text.empty() ? heading("Notes") : ".PP\n") + roff(note) + "\n";
  }
  const auto section = [&](const std::string& title, const HelpText::Entries& entries) {
    text += heading(title);
    for (const auto& [term, meaning] : entries) text += list_entry(bold(term), meaning);
  };
  section("Exit status", help.exit_codes);
  for (const HelpText::Section& one : help.sections) section(one.title, one.entries);
  return text;
}

std::string see_also(const CLI::App& command) {
  std::vector<std::string> pages;
  for (const CLI::App* above = command.get_parent(); above != nullptr; above = above->get_parent()) {
    pages.insert(pages.begin(), page_reference(*above));
  }
  for (const CLI::App* below : subcommands(command)) pages.push_back(page_reference(*below));
  std::string text;
  for (const std::string& page : pages) text += page + (page == pages.back() ? "\n" : ",\n");
  return text.empty() ? "" : heading("See also") + text;
}

/// Returns a page for man(7), section 1.
std::string manual_page(const CLI::App& command) {
  return fmt::format(".TH {} 1 \"\" \"peakmark {}\" \"peakmark\"\n", roff(upper(page_name(command))),
                     roff(PEAKMARK_VERSION)) +
         heading("Name") + roff(page_name(command)) + " \\- " + roff(command.get_description()) + "\n" +
         synopsis(command) + options_part(command) + help_part(help_of(command)) + see_also(command);
}

void write_pages(const CLI::App& command, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  replace_text_file(folder / (page_name(command) + ".1"), manual_page(command));
  for (const CLI::App* below : subcommands(command)) write_pages(*below, folder);
}

const CLI::App& find_command(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (const std::string& word : words) {
    const CLI::App* const below = find_subcommand(*command, word);
    if (below == nullptr) {
      throw UsageError(fmt::format("manual: {}", unknown_command_message(*command, word)));
    }
    command = below;
  }
  return *command;
}

}  // namespace

void add_manual_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<ManualOptions>();
  CLI::App* const command = app.add_subcommand("manual", "Print the manual page of a command");
  CLI::Option* const words =
      command->add_option(value_name::kCommand, options->command,
                          "The command, such as `run` or `history add`. Default: peakmark itself");
  command->add_option("--all", options->folder, "Write the pages of all commands into this folder")
      ->check(kFileName)
      ->type_name(value_name::kFolder)
      ->excludes(words);
  set_help(*command,
           {.notes = {"To read a page: `peakmark manual run | man -l -`. `cmake --install` installs "
                      "the pages in share/man/man1 of the prefix, for `man peakmark-run`."},
            .exit_codes = {{"0", "clean"}, {"2", "wrong usage, or a page cannot be written"}}});
  command->callback([&app, options] {
    if (!options->folder.empty()) return write_pages(app, options->folder);
    print_text(manual_page(find_command(app, options->command)));
  });
}

}  // namespace peakmark::cli
