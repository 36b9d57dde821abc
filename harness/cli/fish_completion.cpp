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

# The word at the cursor is the command's first.
function __peakmark_first
    set -l words (commandline -opc)
    test "$words[-1]" = "$argv[-1]"
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

complete -c peakmark -f
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
  const Offer offer = offer_for(option);
  switch (offer.kind) {
    case Offer::Kind::words:
      return fmt::format("-a '{}'", fmt::join(offer.words, " "));
    case Offer::Kind::files:
      return offer.suffix.empty() ? "-F" : fmt::format("-k -a '(__fish_complete_suffix .{})'", offer.suffix);
    case Offer::Kind::folders:
      return "-a '(__fish_complete_directories)'";
    case Offer::Kind::programs:
      return "-a '(__fish_complete_command)'";
    case Offer::Kind::variants:
      return "-a '(__peakmark_variants)'";
    case Offer::Kind::nothing:
      break;
  }
  return "";
}

std::string fish_lines(const CommandWords& command) {
  const std::size_t blank = command.name.find(' ');
  const std::string below_program = blank == std::string::npos ? "" : command.name.substr(blank + 1);
  const std::string begin = fmt::format("complete -c peakmark -n '__peakmark_at {}'", below_program);
  std::string text = "\n";
  for (const CommandWords& below : command.commands) {
    text += fmt::format("{} -a {} -d {}\n", begin, below.own_name(), fish_quoted(below.description));
  }
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
    if (what.empty()) continue;
    text += one.commands.empty()
                ? fmt::format("{} {}\n", begin, what)
                : fmt::format("complete -c peakmark -n '__peakmark_at {}; and __peakmark_first {}' {}\n",
                              below_program, below_program, what);
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
  text += kFishAfterNames;
  for (const CommandWords* command : commands) text += fish_lines(*command);
  return text;
}

}  // namespace peakmark::cli
