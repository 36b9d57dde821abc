#include "cli/usage_message.hpp"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "history/address.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark::cli {
namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// The first word that looks like an option and is none; what follows `--` is not ours.
std::string unknown_option(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word == "--") break;
    if (word.size() > 1 && word.front() == '-') return word.substr(0, word.find('='));
  }
  return {};
}

/// CLI11 tells what is missing before what is wrong: a misspelt word is the cause, so it comes first.
std::string what_is_wrong(const CLI::App& app, const CLI::App* command, const CLI::Error& error) {
  const CLI::App& here = command == nullptr ? app : *command;
  if (const std::string option = unknown_option(here); !option.empty()) {
    return no_such_option(here, option);
  }
  const std::vector<std::string> names = command_names(here);
  if (!names.empty() && !here.remaining().empty()) {
    const std::string word = here.remaining().front();
    return fmt::format("no command '{}'{}", word, suggest_word(word, names));
  }
  return error.what();
}

}  // namespace

std::string no_such_option(const CLI::App& command, const std::string& option) {
  const std::vector<std::string> names = option_names(command);
  const std::string_view nearest = nearest_word(option, names);
  return fmt::format("no option '{}'{}", option,
                     nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest));
}

std::string usage_message(const CLI::App* app, const CLI::Error& error) {
  const CLI::App* command = nullptr;
  std::string name;
  for (const CLI::App* here = app; !here->get_subcommands().empty();) {  // `history add` is two deep
    here = command = here->get_subcommands().front();
    name += " " + command->get_name();
  }
  return fmt::format("peakmark{}: {}\nSee: peakmark{} --help\n", name,
                     history::hide_passwords(what_is_wrong(*app, command, error)), name);
}

}  // namespace peakmark::cli
