#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/supervise/run_workers.hpp"

namespace peakmark::cli {
namespace {

// The scripts call `peakmark __complete WORD...` with the words up to the cursor, the last of which may be
// empty. It prints
//   1. the kind of candidates: `words`, `files [SUFFIX]`, `folders`, `programs`, or `command N`: from word N
//      on, the words are the command line of another program;
//   2. the part of the last word that the candidates do not repeat: `--worker=old=`;
//   3. for `words`, one line per candidate, with a tab and its description.

// Bash splits words at `=`: they are joined for peakmark, and the candidates replace the part after the last
// `=`.
constexpr const char* kBash = R"bash(# bash completion of peakmark, printed by `peakmark completion bash`.

_peakmark() {
  local cur=${COMP_WORDS[COMP_CWORD]} word
  local -a words=() starts=() lines=()
  local -i i joins=0
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && { ((joins)) || [[ $word == = ]]; }; then
      words[${#words[@]} - 1]+=$word
    else
      words+=("$word") starts+=("$i")
    fi
    joins=0
    [[ $word != = ]] || joins=1
  done
  mapfile -t lines < <("${COMP_WORDS[0]/#\~\//$HOME/}" __complete "${words[@]}" 2>/dev/null)
  local kind=${lines[0]-} prefix=${lines[1]-}
  if [[ $COMP_WORDBREAKS == *=* ]]; then
    prefix=''
    [[ $cur != = ]] || cur=''
  else
    cur=${cur#"$prefix"}
  fi
  [[ $kind == words ]] || compopt -o filenames 2>/dev/null
  case $kind in
    words) COMPREPLY=("${lines[@]:2}") COMPREPLY=("${COMPREPLY[@]%%$'\t'*}") ;;
    files) mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    'files '*) mapfile -t COMPREPLY < <(compgen -f -X "!*.${kind#* }" -- "$cur"; compgen -d -- "$cur") ;;
    folders) mapfile -t COMPREPLY < <(compgen -d -- "$cur") ;;
    programs) mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur") ;;
    command*)
      if declare -F _command_offset >/dev/null; then
        _command_offset "${starts[${kind#* }]}"
        return
      fi
      mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
  esac
  COMPREPLY=("${COMPREPLY[@]/#/$prefix}")
}

complete -F _peakmark peakmark
)bash";

constexpr const char* kZsh = R"zsh(#compdef peakmark
# zsh completion of peakmark, printed by `peakmark completion zsh`.

_peakmark() {
  local -a lines candidates
  lines=("${(@f)$(${(Q)~words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  local kind=$lines[1]
  compset -p ${#lines[2]}
  case $kind in
    words)
      candidates=("${(@)${(@)lines[3,-1]//:/\\:}/$'\t'/:}")
      if [[ $PREFIX == -* ]]; then
        _describe -o option candidates
      else
        _describe value candidates
      fi ;;
    files) _files ;;
    'files '*) _files -g "*.${kind#* }" ;;
    folders) _files -/ ;;
    programs) _alternative 'commands:command:_command_names -e' 'files:file:_files' ;;
    command*)
      shift $((${kind#* } + 1)) words
      ((CURRENT -= ${kind#* } + 1))
      _normal ;;
  esac
}

# Loaded by compinit, the file is the function itself. Read by `source`, it registers the function.
if [[ $funcstack[1] == _peakmark ]]; then
  _peakmark "$@"
else
  compdef _peakmark peakmark
fi
)zsh";

constexpr const char* kFish = R"fish(# fish completion of peakmark, printed by `peakmark completion fish`.

function __peakmark_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines (command $words[1] __complete $words[2..-1] "$word" 2>/dev/null)
    set -l kind (string split ' ' -- $lines[1])
    set -l prefix "$lines[2]"
    set -l rest (string sub -s (math (string length -- "$prefix") + 1) -- "$word")
    switch $kind[1]
        case words
            set -q lines[3]; and printf '%s\n' "$prefix"$lines[3..-1]
        case files
            set -l files (complete -C "'' $rest")
            if set -q kind[2]
                set files (string match -r -- '.*/$|.*\.'$kind[2]'$' $files)
            end
            printf '%s\n' "$prefix"$files
        case folders
            printf '%s\n' "$prefix"(string match -- '*/' (complete -C "'' $rest"))
        case programs
            printf '%s\n' "$prefix"(complete -C "$rest")
        case command
            complete -C (string join ' ' -- (string escape -- $words[(math $kind[2] + 2)..-1]) "$word")
    end
end

complete -c peakmark -f -a '(__peakmark_complete)'
)fish";

struct Completion {
  std::string kind = "words";
  std::string prefix = {};
  std::vector<std::string> candidates = {};

  /// Adds a candidate if it begins with `start`.
  void add(const std::string& word, const std::string& start, const std::string& description = "") {
    if (!word.starts_with(start)) return;
    candidates.push_back(description.empty() ? word : word + "\t" + description);
  }
};

void offer_subcommands(const CLI::App& command, const std::string& start, Completion& result) {
  for (const CLI::App* one : subcommands(command)) result.add(one->get_name(), start, one->get_description());
}

/// Starts the worker to get its variants.
void offer_variants(const std::string& start, Completion& result) {
  SweepOptions sweep;
  set_workers(sweep, {});
  const RunWorkers workers(sweep, -1);
  for (const std::string& name : workers.description().variant_names()) result.add(name, start);
}

void offer_value(const CLI::Option& option, const CLI::App& app, const ReadWords& at,
                 const std::string& start, Completion& result) {
  const std::string value = placeholder(option);
  const auto is = [&](const auto... names) { return ((value == names) || ...); };
  if (const std::vector<std::string> words = choices(option); !words.empty()) {
    for (const std::string& word : words) result.add(word, start);
  } else if (is(value_name::kCommand)) {
    const CLI::App* command = &app;
    for (const std::string& name : at.values) {
      command = find_subcommand(*command, name);
      if (command == nullptr) return;
    }
    offer_subcommands(*command, start, result);
  } else if (is(value_name::kSuite)) {
    result.kind = "files toml";
  } else if (is(value_name::kRun)) {
    result.kind = "files json";
  } else if (is(value_name::kFile, value_name::kProfile, value_name::kHistory, value_name::kBuild)) {
    result.kind = "files";
  } else if (is(value_name::kFolder)) {
    result.kind = "folders";
  } else if (is(value_name::kProgram)) {
    result.kind = "programs";
  } else if (is(value_name::kLabelledProgram)) {
    result.kind = "programs";
    const std::size_t equals = start.find_first_of("/=");
    if (equals != std::string::npos && start[equals] == '=') result.prefix += start.substr(0, equals + 1);
  } else if (is(value_name::kVariant)) {
    offer_variants(start, result);
  }
}

void offer_options(const ReadWords& at, const std::string& start, Completion& result) {
  for (const CLI::Option* option : shown_options(*at.command)) {
    if (at.used.contains(option) && !is_repeatable(*option)) continue;
    for (const std::string& name : option_names(*option)) result.add(name, start, option->get_description());
  }
}

void offer_positional(const CLI::App& app, const ReadWords& at, const std::string& start,
                      Completion& result) {
  if (at.values.empty()) offer_subcommands(*at.command, start, result);
  const std::vector<const CLI::Option*> all = positionals(*at.command);
  if (all.empty()) return;
  const CLI::Option& option = *all[std::min(at.values.size(), all.size() - 1)];
  if (at.values.size() < all.size() || max_values(option) == kAnyNumber) {
    offer_value(option, app, at, start, result);
  }
}

/// `words` must not be empty: the last word is the one at the cursor.
Completion complete(const CLI::App& app, std::span<const std::string> words) {
  const std::string& word = words.back();
  const ReadWords at = read_words(app, words.first(words.size() - 1));
  Completion result;
  if (at.program && *at.program + 1 < words.size()) {
    result.kind = fmt::format("command {}", *at.program);
  } else if (at.program) {
    result.kind = "programs";
  } else if (at.values_left > 0 && !word.starts_with('-')) {
    offer_value(*at.pending, app, at, word, result);
  } else if (word.starts_with('-') && !at.options_ended) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || !word.starts_with("--")) {
      offer_options(at, word, result);
    } else if (const CLI::Option* option = at.command->get_option_no_throw(word.substr(0, equals))) {
      result.prefix = word.substr(0, equals + 1);
      offer_value(*option, app, at, word.substr(equals + 1), result);
    }
  } else {
    offer_positional(app, at, word, result);
  }
  return result;
}

}  // namespace

bool complete_words(const CLI::App& app, const std::vector<std::string>& words) {
  if (words.size() < 2 || words.front() != "__complete") return false;
  const Completion result = complete(app, std::span(words).subspan(1));
  print_text(fmt::format("{}\n{}\n", result.kind, result.prefix));
  for (const std::string& candidate : result.candidates) print_text(candidate + "\n");
  return true;
}

void add_completion_command(CLI::App& app, Result& /*result*/) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* const command = app.add_subcommand("completion", "Print a shell's completion script");
  command->add_option("SHELL", *shell, "The shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  set_help(
      *command,
      {.notes = {"The script asks peakmark for candidates at every completion. `cmake --install` installs "
                 "the scripts where shells find them: share/bash-completion/completions, "
                 "share/zsh/site-functions and share/fish/vendor_completions.d of the prefix. For "
                 "another prefix, add the line below to the start file of the shell; for zsh, after "
                 "compinit."},
       .exit_codes = {{"0", "clean"}, {"2", "wrong usage"}},
       .sections = {{"Files",
                     {{"~/.bashrc", "eval \"$(peakmark completion bash)\""},
                      {"~/.zshrc", "source <(peakmark completion zsh)"},
                      {"~/.config/fish/config.fish", "peakmark completion fish | source"}}}}});
  command->callback([shell] { print_text(*shell == "bash" ? kBash : *shell == "zsh" ? kZsh : kFish); });
}

}  // namespace peakmark::cli
