#pragma once

#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

namespace peakmark::cli {

/// What --help and the manual page say about a command after its options.
struct HelpText {
  using Entries = std::vector<std::pair<std::string, std::string>>;  ///< a term and its meaning

  struct Section {
    std::string title;
    Entries entries;
  };

  std::vector<std::string> notes = {};  ///< a paragraph each
  Entries exit_codes = {};              ///< "0" and "clean"
  std::vector<Section> sections = {};
};

/// Sets the help of a command. Every command needs one: a subcommand would inherit that of its parent.
void set_help(CLI::App& command, HelpText help);

/// Returns what set_help() has set.
const HelpText& help_of(const CLI::App& command);

/// Returns the description of an option with its default, environment variable and conflicts, as sentences.
std::string full_description(const CLI::Option& option);

/// Returns what to print for a wrong command line: `peakmark: …` with the wrong word, the nearest valid word,
/// and which help to read. `app` is the whole program.
std::string usage_message(const CLI::App* app, const CLI::Error& error);

/// Returns `no command 'rnu'; did you mean 'run'?`
std::string unknown_command_message(const CLI::App& command, const std::string& word);

/// Returns `no option '--jsno'; did you mean '--json'?`
std::string unknown_option_message(const CLI::App& command, const std::string& option);

}  // namespace peakmark::cli
