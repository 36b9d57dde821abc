#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/standard_output.hpp"
#include "supervise/run_workers.hpp"

namespace peakmark::cli {
namespace {

std::string variants() {
  SweepOptions sweep;
  set_workers(sweep, {});
  const RunWorkers workers(sweep, -1);
  std::string names;
  for (const std::string& name : workers.description().variant_names()) names += name + "\n";
  return names;
}

std::string completion(const CLI::App& app, const std::string& what) {
  if (what == "variants") return variants();
  const CommandWords program = words_of(app);
  return what == "bash"  ? bash_completion(program)
         : what == "zsh" ? zsh_completion(program)
                         : fish_completion(program);
}

}  // namespace

void add_completion_command(CLI::App& app, Result& /*result*/) {
  const auto what = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("completion", "Print what a shell needs to complete peakmark's commands");
  command->add_option("SHELL", *what, "bash, zsh or fish; or variants: the names that are offered for them")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "variants"}));
  command->footer(
      "An installed peakmark has brought it where shells look: share/bash-completion/completions,\n"
      "share/zsh/site-functions and share/fish/vendor_completions.d of its prefix. For another prefix, a "
      "line in\n"
      "the shell's start file does it, in zsh's after compinit.\n"
      "Exit code: 0 clean, 2 wrong usage.\n"
      "\n"
      "Files:\n"
      "  ~/.bashrc                   eval \"$(peakmark completion bash)\"\n"
      "  ~/.zshrc                    source <(peakmark completion zsh)\n"
      "  ~/.config/fish/config.fish  peakmark completion fish | source");
  command->callback([&app, what] { print_text(completion(app, *what)); });
}

}  // namespace peakmark::cli
