#include "cli/command_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  words.may_repeat = words.most_values == OptionWords::kAnyNumber ||
                     option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  return words;
}

CommandWords command_words(const CLI::App& app, const std::string& above) {
  CommandWords words;
  words.name = above + app.get_name();
  words.description = app.get_description();
  words.footer = app.get_footer();
  words.requires_command = app.get_require_subcommand_min() > 0;
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
  return command_words(app, "");
}

std::string offer_text(const OptionWords& option, const OfferTexts& texts) {
  const auto is = [&](const char* name) { return option.value == name; };
  const auto files_with = [&](const char* suffix) {
    return fmt::format(fmt::runtime(texts.files_with_suffix), suffix);
  };
  if (!option.choices.empty()) {
    return fmt::format(fmt::runtime(texts.words), fmt::join(option.choices, " "));
  }
  if (is(value_name::kCommand)) return texts.commands;
  if (is(value_name::kSuite)) return files_with("toml");
  if (is(value_name::kRun)) return files_with("json");
  if (is(value_name::kFile) || is(value_name::kProfile) || is(value_name::kHistory)) return texts.files;
  if (is(value_name::kBuild)) return texts.files;
  if (is(value_name::kFolder)) return texts.folders;
  if (is(value_name::kProgram)) return texts.programs;
  if (is(value_name::kNamedProgram)) return texts.named_programs;
  if (is(value_name::kVariant)) return texts.variants;
  return "";
}

std::vector<const CommandWords*> all_commands(const CommandWords& program) {
  std::vector<const CommandWords*> all;
  add_with_those_below(program, all);
  return all;
}

}  // namespace peakmark::cli
