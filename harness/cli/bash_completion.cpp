#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/command_words.hpp"

namespace peakmark::cli {
namespace {

// The words before the cursor say at which command it stands, at which word of it (`position`; `named` are
// the words before that one), and whether a value of an option is still to come (`pending`). Bash takes words
// apart at `=`: what follows it belongs to the word before, NAME=value as the value of an option or of its
// own; behind an option it is that option's value.
constexpr const char* kBashBegin =
    R"bash(# bash completion of peakmark, printed by `peakmark completion bash`.

_peakmark_files() {  # SUFFIX: files that have it, and folders; without one all files
  compopt -o filenames 2>/dev/null
  if [[ -n ${1-} ]]; then
    mapfile -t COMPREPLY < <(compgen -f -X "!*.$1" -- "$cur"; compgen -d -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  fi
}

_peakmark_folders() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}

_peakmark_programs() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
}

_peakmark_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }

_peakmark_variants() { _peakmark_words "$("${COMP_WORDS[0]}" completion variants 2>/dev/null)"; }

_peakmark_recorded() {  # INDEX: the program and its words, which begin there
  if ((COMP_CWORD == $1)); then
    _peakmark_programs
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$1"
  else
    _peakmark_files
  fi
}

_peakmark_goes_on() {  # the word at the cursor is the end of NAME=value
  local -i equals=$((COMP_CWORD - 1))
  [[ ${COMP_WORDS[COMP_CWORD]} != = ]] || equals=COMP_CWORD
  ((equals > 1)) && [[ ${COMP_WORDS[equals]} == = && ${COMP_WORDS[equals - 1]} != -* ]]
}
)bash";

constexpr const char* kBashReading = R"bash(
_peakmark() {
  local cur=${COMP_WORDS[COMP_CWORD]} at=peakmark named='' option='' word
  local -i i pending=0 position=0 pending_before=0 position_before=0
  COMPREPLY=()
  [[ $cur != = ]] || cur=''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then
      [[ ${COMP_WORDS[i - 1]} == -* ]] || i+=1
      continue
    fi
    pending_before=$pending position_before=$position
    if ((pending > 0)) && [[ $word != -* ]]; then
      pending+=-1
      continue
    fi
    pending=0
    case "$at $word" in
)bash";

constexpr const char* kBashEnd = R"bash(  esac
}

complete -F _peakmark peakmark
)bash";

/// "'a' | 'b'": patterns of a case, each as it stands.
std::string pattern(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}'{}'", text.empty() ? "" : " | ", word);
  return text;
}

std::vector<std::string> keys_of(const CommandWords& command, const OptionWords& option) {
  std::vector<std::string> keys;
  for (const std::string& name : option.names) keys.push_back(command.name + " " + name);
  return keys;
}

std::string bash_action(const OptionWords& option) {
  return offer_text(option, {.words = "_peakmark_words '{}'",
                             .commands = "_peakmark_commands \"peakmark$named\"",
                             .files = "_peakmark_files",
                             .files_with_suffix = "_peakmark_files {}",
                             .folders = "_peakmark_folders",
                             .programs = "_peakmark_programs",
                             .named_programs = "_peakmark_programs",  // what follows `=` is a word of its own
                             .variants = "_peakmark_variants"});
}

/// The function that offers the commands below one.
std::string bash_commands(const std::vector<const CommandWords*>& commands) {
  std::string text;
  for (const CommandWords* command : commands) {
    if (command->commands.empty()) continue;
    std::vector<std::string_view> below;
    for (const CommandWords& one : command->commands) below.push_back(one.own_name());
    text += fmt::format("    '{}') _peakmark_words '{}' ;;\n", command->name, fmt::join(below, " "));
  }
  return "\n_peakmark_commands() {  # NAME: those of the command of that name, such as \"peakmark history\"\n"
         "  case \"$1\" in\n" +
         text + "  esac\n}\n";
}

/// How the words before the cursor are read.
std::string reading(const std::vector<const CommandWords*>& commands) {
  std::vector<std::string> names;
  std::string valued;
  std::string recorded;
  for (const CommandWords* command : commands) {
    for (const CommandWords& below : command->commands) names.push_back(below.name);
    for (const OptionWords& option : command->options) {
      if (option.most_values == 0) continue;
      valued += fmt::format("      {}) option=$word pending={} ;;\n", pattern(keys_of(*command, option)),
                            option.most_values);
    }
    if (!command->runs_a_program) continue;
    // `--` or the first word that is no option ends our own words.
    recorded += fmt::format(
        "      '{0} --')\n        _peakmark_recorded $((i + 1))\n        return ;;\n"
        "      '{0} -'*) ;;\n"
        "      '{0} '*)\n        _peakmark_recorded \"$i\"\n        return ;;\n",
        command->name);
  }
  return fmt::format("      {}) at=\"$at $word\" ;;\n", pattern(names)) + valued + recorded;
}

/// What is offered at the cursor.
std::string offering(const std::vector<const CommandWords*>& commands) {
  std::string text;
  for (const CommandWords* command : commands) {
    std::vector<std::string> names;
    for (const OptionWords& option : command->options) {
      for (const std::string& name : option.names) names.push_back(name);
      const std::string what = bash_action(option);
      if (option.most_values > 0) {
        text += fmt::format("    {}) {} ;;\n", pattern(keys_of(*command, option)), what.empty() ? ":" : what);
      }
    }
    text += fmt::format("    '{} -') _peakmark_words '{}' ;;\n", command->name, fmt::join(names, " "));
    if (!command->commands.empty()) {
      text += fmt::format("    '{} 0') _peakmark_commands \"$at\" ;;\n", command->name);
    }
    for (std::size_t i = 0; i < command->positionals.size(); ++i) {
      const OptionWords& one = command->positionals[i];
      const std::string what = bash_action(one);
      if (what.empty()) continue;
      text += one.most_values > 1 ? fmt::format("    '{} '[0-9]*) {} ;;\n", command->name, what)
                                  : fmt::format("    '{} {}') {} ;;\n", command->name, i, what);
    }
  }
  return text;
}

}  // namespace

std::string bash_completion(const CommandWords& program) {
  const std::vector<const CommandWords*> commands = all_commands(program);
  return kBashBegin + bash_commands(commands) + kBashReading + reading(commands) +
         "      *' -'*) ;;\n      *) position+=1 named+=\" $word\" ;;\n    esac\n  done\n"
         "  if _peakmark_goes_on; then\n    pending=$pending_before position=$position_before\n  fi\n"
         "  word=$position\n"
         "  if ((pending > 0)) && [[ $cur != -* ]]; then\n    word=$option\n"
         "  elif [[ $cur == -* ]]; then\n    word=-\n  fi\n"
         "  case \"$at $word\" in\n" +
         offering(commands) + kBashEnd;
}

}  // namespace peakmark::cli
