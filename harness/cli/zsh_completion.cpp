#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/command_words.hpp"
#include "cli/value_name.hpp"

namespace peakmark::cli {
namespace {

constexpr const char* kZshBegin = R"zsh(#compdef peakmark
# zsh completion of peakmark, printed by `peakmark completion zsh`.

_peakmark_programs() {
  _alternative 'commands:command:_command_names -e' 'files:file:_files'
}

_peakmark_named_programs() {  # NAME= may stand before it
  compset -P 1 '[^/=]##='
  _peakmark_programs
}

_peakmark_named_commands() {  # the words are those of a command's name
  _peakmark_commands peakmark $words[1,CURRENT-1]
}

_peakmark_variants() {
  local -a names
  names=(${(f)"$(peakmark completion variants 2>/dev/null)"})
  compadd -a names
}

_peakmark_recorded() {  # a command line of its own
  [[ $words[1] != -- ]] || { shift words; ((CURRENT--)) }
  _normal
}
)zsh";

/// For a text in single quotes that _arguments or _describe takes apart at colons and brackets.
std::string zsh_escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    if (letter == '\'') {
      result += "'\\''";
    } else if (letter == '\n') {
      result += ' ';
    } else {
      if (letter == '[' || letter == ']' || letter == ':' || letter == '\\') result += '\\';
      result += letter;
    }
  }
  return result;
}

std::string function_of(const CommandWords& command) {
  std::string name = "_" + command.name;
  std::ranges::replace(name, ' ', '_');
  return name;
}

std::string zsh_action(const OptionWords& option) {
  return offer_text(option, {.words = "({})",
                             .commands = "_peakmark_named_commands",
                             .files = "_files",
                             .files_with_suffix = "_files -g \"*.{}\"",
                             .folders = "_files -/",
                             .programs = "_peakmark_programs",
                             .named_programs = "_peakmark_named_programs",
                             .variants = "_peakmark_variants"});
}

/// The function that offers the commands below one.
std::string zsh_commands(const std::vector<const CommandWords*>& all) {
  std::string cases;
  for (const CommandWords* command : all) {
    if (command->commands.empty()) continue;
    cases += fmt::format("    '{}') commands=(\n", command->name);
    for (const CommandWords& below : command->commands) {
      cases += fmt::format("        '{}:{}'\n", below.own_name(), zsh_escaped(below.description));
    }
    cases += "      ) ;;\n";
  }
  return "\n_peakmark_commands() {  # those of the command whose name the words are\n"
         "  local -a commands\n  case \"$*\" in\n" +
         cases + "  esac\n  _describe command commands\n}\n";
}

/// "'(-o --output)'{-o+,--output=}'[Run file to write]:FILE:_files'"
std::string zsh_argument(const OptionWords& option) {
  const bool takes_any_number = option.most_values == OptionWords::kAnyNumber;
  const bool takes_one = option.most_values == 1 || takes_any_number;
  std::vector<std::string> names;
  for (const std::string& name : option.names) {
    names.push_back(name + (!takes_one ? "" : name.starts_with("--") ? "=" : "+"));
  }
  std::string text;
  if (option.may_repeat) {
    text = "'*'";
  } else if (names.size() > 1) {
    text = fmt::format("'({})'", fmt::join(option.names, " "));
  }
  text += names.size() > 1 ? fmt::format("{{{}}}", fmt::join(names, ",")) : names.front();
  text += "'[" + zsh_escaped(option.description) + "]";
  for (int i = 0; i < (takes_any_number ? 1 : option.most_values); ++i) {
    text += ":" + zsh_escaped(option.choices.empty() ? option.value : "WORD") + ":" + zsh_action(option);
  }
  return text + "'";
}

std::vector<std::string> zsh_arguments(const CommandWords& command) {
  std::vector<std::string> lines;
  for (const OptionWords& option : command.options) lines.push_back(zsh_argument(option));
  if (command.runs_a_program) {
    lines.insert(lines.end(), {"'(-):PROGRAM:_peakmark_programs'", "'*::argument:_peakmark_recorded'"});
    return lines;
  }
  for (const OptionWords& one : command.positionals) {
    // With the second colon `words` are those from the first one at its place on.
    const char* const place = one.value == value_name::kCommand ? "*:" : one.most_values > 1 ? "*" : "";
    lines.push_back(fmt::format("'{}:{}:{}'", place, zsh_escaped(one.value), zsh_action(one)));
  }
  return lines;
}

std::string zsh_function(const CommandWords& command) {
  std::vector<std::string> lines = zsh_arguments(command);
  if (command.commands.empty()) {
    return fmt::format("\n{}() {{\n  _arguments -S : \\\n    {}\n}}\n", function_of(command),
                       fmt::join(lines, " \\\n    "));
  }
  lines.insert(lines.end(), {"'1: :->command'", "'*:: :->rest'"});
  std::string branches;
  for (const CommandWords& below : command.commands) {
    branches += fmt::format("        {}) {} ;;\n", below.own_name(), function_of(below));
  }
  return fmt::format(
      "\n{}() {{\n  local curcontext=$curcontext context state state_descr line\n"
      "  typeset -A opt_args\n  _arguments -C -S : \\\n    {}\n"
      "  case $state in\n    command) _peakmark_commands {} ;;\n"
      "    rest)\n      case $line[1] in\n{}      esac ;;\n  esac\n}}\n",
      function_of(command), fmt::join(lines, " \\\n    "), command.name, branches);
}

}  // namespace

std::string zsh_completion(const CommandWords& program) {
  const std::vector<const CommandWords*> commands = all_commands(program);
  std::string text = kZshBegin + zsh_commands(commands);
  for (const CommandWords* command : commands) text += zsh_function(*command);
  // Loaded by compinit the file is the function itself; read by `source` it only says whose it is.
  return text +
         "\nif [[ $funcstack[1] == _peakmark ]]; then\n  _peakmark \"$@\"\nelse\n  compdef _peakmark "
         "peakmark\nfi\n";
}

}  // namespace peakmark::cli
