#include "cli/command_words.hpp"

#include <algorithm>
#include <sstream>

#include "cli/value_name.hpp"

namespace peakmark::cli {
namespace {

/// "TEXT:{csv,jsonl}" has the words csv and jsonl.
std::vector<std::string> words_in_braces(const std::string& text) {
  std::vector<std::string> words;
  const std::size_t begin = text.find('{');
  const std::size_t end = text.find('}', begin);
  if (begin == std::string::npos || end == std::string::npos) return words;
  std::istringstream inside(text.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(inside, word, ',');) words.push_back(word);
  return words;
}

OptionWords option_words(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames()) words.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  const std::string type = option.get_type_name();
  words.choices = words_in_braces(type);
  if (option.get_items_expected_max() > 0) {
    words.value = option.get_positional() ? option.get_name(true) : type.substr(0, type.find(':'));
    words.most_values = std::min(option.get_items_expected_max(), OptionWords::kAnyNumber);
  }
  words.default_value = option.get_default_str();
  words.description = option.get_description();
  words.group = option.get_group();
  words.environment = option.get_envname();
  words.is_required = option.get_required();
  return words;
}

CommandWords command_words(const CLI::App& app, const std::string& above) {
  CommandWords words;
  words.name = above + app.get_name();
  words.description = app.get_description();
  words.footer = app.get_footer();
  words.runs_a_program = app.get_prefix_command();
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? words.positionals : words.options).push_back(option_words(*option));
  }
  for (const CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    words.commands.push_back(command_words(*command, words.name + " "));
  }
  return words;
}

void add_with_those_below(const CommandWords& command, std::vector<const CommandWords*>& all) {
  all.push_back(&command);
  for (const CommandWords& below : command.commands) add_with_those_below(below, all);
}

}  // namespace

CommandWords words_of(const CLI::App& app) {
  CommandWords program = command_words(app, "");
  std::vector<std::string> names;
  for (const CommandWords& command : program.commands) names.emplace_back(command.own_name());
  for (CommandWords& command : program.commands) {
    for (OptionWords& one : command.positionals) {
      if (one.value == value_name::kCommand) one.commands = names;
    }
  }
  return program;
}

Offer offer_for(const OptionWords& option) {
  using Kind = Offer::Kind;
  const auto is = [&](const char* name) { return option.value == name; };
  if (!option.choices.empty()) return {Kind::words, "", option.choices};
  if (!option.commands.empty()) return {Kind::words, "", option.commands};
  if (is(value_name::kSuite)) return {Kind::files, "toml", {}};
  if (is(value_name::kRun)) return {Kind::files, "json", {}};
  if (is(value_name::kFile) || is(value_name::kProfile) || is(value_name::kHistory))
    return {Kind::files, "", {}};
  if (is(value_name::kFolder)) return {Kind::folders, "", {}};
  if (is(value_name::kProgram)) return {Kind::programs, "", {}};
  if (is(value_name::kVariant)) return {Kind::variants, "", {}};
  return {};
}

std::vector<const CommandWords*> all_commands(const CommandWords& program) {
  std::vector<const CommandWords*> all;
  add_with_those_below(program, all);
  return all;
}

}  // namespace peakmark::cli
