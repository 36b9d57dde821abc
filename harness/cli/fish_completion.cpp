#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/command_words.hpp"

namespace peakmark::cli {
namespace {

constexpr const char* kFishBegin =
    R"fish(# fish completion of peakmark, printed by `peakmark completion fish`.

# The command that the words before the cursor name, such as `history add`.
function __peakmark_command
    set -l at ''
    set -l words (commandline -opc)
    for word in $words[2..-1]
        switch "$at $word"
            case)fish";

constexpr const char* kFishAfterNames = R"fish(
                set at "$at $word"
        end
    end
    string trim -- "$at"
end

function __peakmark_at
    test (__peakmark_command) = "$argv"
end

# The commands below the one that the words of the command before the cursor name: history, of `manual history`.
function __peakmark_named_commands
    set -l words (string match -v -- '-*' (commandline -opc))
    set -l at (string split ' ' -- (__peakmark_command))
    __peakmark_commands $words[(math (count $at) + 2)..-1]
end

# A program, before which NAME= may stand; and the option itself, in the same word.
function __peakmark_programs
    set -l word (string replace -r -- '^--[^=]*=' '' (commandline -ct))
    set -l name (string match -r -- '^[^/=]+=' $word)
    printf '%s\n' "$name"(complete -C (string replace -r -- '^[^/=]+=' '' $word))
end

function __peakmark_variants
    set -l words (commandline -opc)
    command $words[1] completion variants 2>/dev/null
end

# What follows `--` is a command line of its own.
function __peakmark_recorded
    set -l words (commandline -opc)
    if set -l mark (contains -i -- -- $words)
        set -e words[1..$mark]
        complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
    else
        __fish_complete_command
    end
end
)fish";

std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') result += '\\';
    result += letter == '\n' ? ' ' : letter;
  }
  return result + "'";
}

/// The arguments of `complete` that say what is offered for a value.
std::string fish_action(const OptionWords& option) {
  return offer_text(option, {.words = "-a '{}'",
                             .commands = "-a '(__peakmark_named_commands)'",
                             .files = "-F",
                             .files_with_suffix = "-k -a '(__fish_complete_suffix .{})'",
                             .folders = "-a '(__fish_complete_directories)'",
                             .programs = "-a '(__peakmark_programs)'",
                             .named_programs = "-a '(__peakmark_programs)'",
                             .variants = "-a '(__peakmark_variants)'"});
}

/// "history add" of "peakmark history add".
std::string below_program(const CommandWords& command) {
  const std::size_t blank = command.name.find(' ');
  return blank == std::string::npos ? "" : command.name.substr(blank + 1);
}

/// The function that offers the commands below one.
std::string fish_commands(const std::vector<const CommandWords*>& commands) {
  std::string text =
      "\n# Those of the command whose name the words are.\nfunction __peakmark_commands\n"
      "    switch \"$argv\"\n";
  for (const CommandWords* command : commands) {
    if (command->commands.empty()) continue;
    text += fmt::format("        case '{}'\n            printf '%s\\t%s\\n'", below_program(*command));
    for (const CommandWords& below : command->commands) {
      text += fmt::format(" \\\n                {} {}", below.own_name(), fish_quoted(below.description));
    }
    text += "\n";
  }
  return text + "    end\nend\n";
}

std::string fish_lines(const CommandWords& command) {
  const std::string name = below_program(command);
  const std::string begin = fmt::format("complete -c peakmark -n '__peakmark_at {}'", name);
  std::string text = "\n";
  if (!command.commands.empty()) text += fmt::format("{} -a '(__peakmark_commands {})'\n", begin, name);
  for (const OptionWords& option : command.options) {
    text += begin;
    for (const std::string& name : option.names) {
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    if (option.most_values > 0) {
      const std::string what = fish_action(option);
      text += (what == "-F" ? " -r " : " -x ") + what + (what.empty() ? "" : " ");
    } else {
      text += " ";
    }
    text += fmt::format("-d {}\n", fish_quoted(option.description));
  }
  if (command.runs_a_program) return text + begin + " -a '(__peakmark_recorded)'\n";
  for (const OptionWords& one : command.positionals) {
    const std::string what = fish_action(one);
    if (!what.empty()) text += fmt::format("{} {}\n", begin, what);
  }
  return text;
}

}  // namespace

std::string fish_completion(const CommandWords& program) {
  const std::vector<const CommandWords*> commands = all_commands(program);
  std::string text = kFishBegin;
  for (const CommandWords* command : commands) {
    if (command == commands.front()) continue;
    text += " '" + command->name.substr(command->name.find(' ')) + "'";  // with the blank before it
  }
  text += kFishAfterNames + fish_commands(commands) + "\ncomplete -c peakmark -f\n";
  for (const CommandWords* command : commands) text += fish_lines(*command);
  return text;
}

}  // namespace peakmark::cli
