#pragma once

#include <CLI/App.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark::cli {

/// An option, or a word that a command takes at its place.
struct OptionWords {
  std::vector<std::string> names;    ///< "-o", "--output"; none of a word at its place
  std::string value;                 ///< what stands for the value: "FILE"; empty of a flag
  std::vector<std::string> choices;  ///< the words that the value may be, where they are a closed set
  std::string default_value;         ///< as the help shows it; empty: none
  std::string description;
  std::string group;        ///< its heading in the help
  std::string environment;  ///< the variable that serves instead; empty: none
  int most_values = 0;      ///< 0: a flag; kAnyNumber: as many as follow
  bool is_required = false;
  bool may_repeat = false;  ///< the option may stand more than once

  static constexpr int kAnyNumber = 1'000'000;
};

/// A command as its help tells of it: completion files and manual pages are made of this.
struct CommandWords {
  std::string name;  ///< as it is typed: "peakmark history add"
  std::string description;
  std::string footer;
  std::vector<OptionWords> options;
  std::vector<OptionWords> positionals;
  std::vector<CommandWords> commands;
  bool requires_command = false;  ///< one of `commands` must follow
  bool runs_a_program = false;    ///< what follows its options is a command line of another program

  /// The last word of its name.
  [[nodiscard]] std::string_view own_name() const {
    return std::string_view(name).substr(name.rfind(' ') + 1);
  }
};

/// Of the whole program, from the tree that also prints --help.
CommandWords words_of(const CLI::App& app);

/// How a shell says what it offers for a value.
struct OfferTexts {
  std::string words;  ///< with {} for them, a blank between two
  std::string commands;
  std::string files;
  std::string files_with_suffix;  ///< with {} for it: "toml"
  std::string folders;
  std::string programs;
  std::string named_programs;  ///< PROGRAM or NAME=PROGRAM
  std::string variants;
};

/// The one of `texts` that is right for the option; empty where nothing is known of its value.
std::string offer_text(const OptionWords& option, const OfferTexts& texts);

/// The commands as a list, each before those below it.
std::vector<const CommandWords*> all_commands(const CommandWords& program);

// The texts, for the shells and for man.

std::string bash_completion(const CommandWords& program);
std::string zsh_completion(const CommandWords& program);
std::string fish_completion(const CommandWords& program);

/// The page in man(7), for section 1. `program` is the whole program, of which `command` is a part or all.
std::string manual_page(const CommandWords& program, const CommandWords& command, std::string_view version);

/// "peakmark-history-add": what the page is called, without its section.
std::string page_name(const CommandWords& command);

}  // namespace peakmark::cli
