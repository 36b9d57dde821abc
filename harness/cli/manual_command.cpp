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

/// `font`: `B` for bold, `I` for italic.
std::string in_font(char font, std::string_view text) {
  return text.empty() ? "" : fmt::format("\\f{}{}\\fR", font, roff(text));
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return result;
}

std::string heading(std::string_view name) {
  return ".SH " + roff(upper(name)) + "\n";
}

/// Returns the name of a manual page without its section: `peakmark-history-add`.
std::string page_name(std::string command) {
  std::ranges::replace(command, ' ', '-');
  return command;
}

std::string section_text(const HelpSection& section) {
  std::string text = heading(section.title);
  for (const auto& [term, value, meaning] : section.entries) {
    text += fmt::format(".TP\n{}{}{}\n{}\n", in_font('B', term), term.empty() || value.empty() ? "" : " ",
                        in_font('I', value), roff(meaning));
  }
  return text;
}

std::string see_also(const CLI::App& command) {
  std::vector<const CLI::App*> pages = subcommands(command);
  if (command.get_parent() != nullptr) pages.insert(pages.begin(), command.get_parent());
  std::string text;
  for (const CLI::App* const one : pages)
    text +=
        fmt::format("{}\\%{}(1)", text.empty() ? "" : ",\n", in_font('B', page_name(help_page(*one).name)));
  return text.empty() ? "" : heading("See also") + text + "\n";
}

/// Returns a page for man(7), section 1.
std::string manual_page(const CLI::App& command) {
  const HelpPage page = help_page(command);
  const std::string name = page_name(page.name);
  std::string text =
      fmt::format(".TH {} 1 \"\" \"peakmark {}\" \"peakmark\"\n", roff(upper(name)), roff(PEAKMARK_VERSION));
  text += heading("Name") + roff(name) + " \\- " + roff(page.description) + "\n";
  text += heading("Synopsis") + in_font('B', page.name) + " " + roff(page.usage) + "\n";
  for (const HelpSection& section : page.options) text += section_text(section);
  if (!page.notes.empty()) text += heading("Notes");
  for (const std::string& note : page.notes)
    text += (note == page.notes.front() ? "" : ".PP\n") + roff(note) + "\n";
  for (const HelpSection& section : page.details) text += section_text(section);
  return text + see_also(command);
}

void write_pages(const CLI::App& command, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  replace_text_file(folder / (page_name(help_page(command).name) + ".1"), manual_page(command));
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
