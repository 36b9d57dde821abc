#pragma once

#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

namespace peakmark::cli {

/// What a command adds to the help of its options.
struct HelpText {
  using Entries = std::vector<std::pair<std::string, std::string>>;  ///< a term and its meaning

  struct Section {
    std::string title;
    Entries entries;
  };

  std::vector<std::string> notes = {};  ///< paragraphs
  Entries exit_codes = {};              ///< "0" and "clean"
  std::vector<Section> sections = {};
};

/// Sets the help of a command. Every command needs one: a subcommand would inherit that of its parent.
void set_help(CLI::App& command, HelpText help);

/// A command, an argument, an option, or a term of HelpText.
struct HelpEntry {
  std::string term;     ///< `-o,--output`; empty for an argument
  std::string value;    ///< `RUN`, `{cold,hot}` or `SUITE...`; empty if it takes none
  std::string meaning;  ///< sentences; of an option with its default, environment variable and conflicts
};

struct HelpSection {
  std::string title;
  std::vector<HelpEntry> entries;
};

/// What --help and the manual page of a command show, in this order.
struct HelpPage {
  std::string name;  ///< `peakmark history add`
  std::string description;
  std::string usage;                 ///< the words after the name: `[OPTIONS] RUN...`
  std::vector<HelpSection> options;  ///< commands, arguments, and a section for each group of options
  std::vector<std::string> notes;
  std::vector<HelpSection> details;  ///< exit codes, and HelpText::sections
};

/// Returns the page of a command. Throws std::logic_error if set_help() was not called for it.
HelpPage help_page(const CLI::App& command);

/// Returns the message for a wrong command line: `peakmark: …` with the wrong word, the nearest valid word,
/// and which help to read. `app` is the whole program.
std::string usage_message(const CLI::App* app, const CLI::Error& error);

/// Returns `no command 'rnu'; did you mean 'run'?`
std::string unknown_command_message(const CLI::App& command, const std::string& word);

/// Returns `no option '--jsno'; did you mean '--json'?`
std::string unknown_option_message(const CLI::App& command, const std::string& option);

}  // namespace peakmark::cli
