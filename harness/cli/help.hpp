#pragma once

#include <CLI/App.hpp>
#include <string>
#include <utility>
#include <vector>

namespace peakmark::cli {

/// The part of --help and the manual page that follows the options of a command.
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

/// Returns the help that set_help() has set.
const HelpText& help_of(const CLI::App& command);

/// Returns the description of an option with its default, environment variable and conflicts, as sentences.
std::string full_description(const CLI::Option& option);

/// Returns the message for a wrong command line: `peakmark: …` with the wrong word, the nearest valid word,
/// and which help to read. `app` is the whole program.
std::string usage_message(const CLI::App* app, const CLI::Error& error);

/// Returns `no command 'rnu'; did you mean 'run'?`
std::string unknown_command_message(const CLI::App& command, const std::string& word);

/// Returns `no option '--jsno'; did you mean '--json'?`
std::string unknown_option_message(const CLI::App& command, const std::string& option);

}  // namespace peakmark::cli
