#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/program.hpp"
#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/history_commands.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "history/history.hpp"
#include "runfile/json_fields.hpp"
#include "runfile/run_file.hpp"
#include "trend/reports.hpp"

namespace peakmark::cli {

using history::History;
using json_fields::Json;
using json_fields::pretty;

namespace {

// add

struct AddOptions {
  std::string history;
  OriginOptions origin;
  std::vector<std::filesystem::path> runs;
  bool json = false;
};

history::Added add_file(History& history, const std::filesystem::path& path, const Run& run,
                        const FoundOrigin& found) {
  try {
    history::Added added = history.add(run, found.origin);
    if (!added.was_there) added.notes.insert(added.notes.begin(), found.notes.begin(), found.notes.end());
    return added;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

/// Returns ` of branch 'pull/12'` for a run that is not of the base branch.
std::string branch_text(const history::Added& added) {
  return added.is_of_base ? "" : fmt::format(" of branch '{}'", plain_text(added.branch));
}

void add(const AddOptions& options) {
  std::vector<Run> runs;
  runs.reserve(options.runs.size());
  for (const auto& path : options.runs) runs.push_back(read_run(path));
  const auto history = open_history(options.history, History::Purpose::write);
  Json list = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunContext& context = runs[i].context;
    const FoundOrigin found =
        find_origin(options.origin, current_environment(), context.commit, history->settings().base_branch);
    const history::Added added = add_file(*history, options.runs[i], runs[i], found);
    print_message(stderr, "{}: {} {}, {}: run {}{} of '{}' ({}){}\n", options.runs[i].string(), context.id,
                  added.was_there ? "exists already, nothing changed" : "added",
                  quantity(runs[i].observations.size(), "case"), added.runs_of_device, branch_text(added),
                  plain_text(context.device), context.backend,
                  added.is_of_base && added.runs_of_device == 1 ? "; no baseline yet" : "");
    if (!added.is_of_base) {
      print_message(stderr, "to compare it with its merge base: peakmark trends --branch {}\n",
                    shell_word(added.branch));
    }
    for (const std::string& note : added.notes) print_message(stderr, "note: {}\n", plain_text(note));
    list.push_back({{"file", options.runs[i].string()},
                    {"run", context.id},
                    {"branch", json_fields::null_if_empty(added.branch)},
                    {"is_of_base", added.is_of_base},
                    {"was_there", added.was_there},
                    {"runs_of_device", added.runs_of_device},
                    {"notes", added.notes}});
  }
  if (options.json) print_text(pretty({{"history", history->address().name()}, {"runs", list}}));
}

}  // namespace

void add_origin_options(CLI::App& command, OriginOptions& options) {
  command
      .add_option("--branch", options.branch,
                  "The branch of the runs. Default: that of the GitHub, GitLab or Jenkins job (pull/12 for a "
                  "pull request), else of the git clone in this folder")
      ->type_name(value_name::kBranch)
      ->check(kNotEmpty);
  command
      .add_option("--base-branch", options.base_branch,
                  "The branch that trends follow. Default: the history's, else that of the job or clone")
      ->type_name(value_name::kBranch)
      ->check(kNotEmpty);
  command
      .add_option("--merge-base", options.merge_base,
                  "The commit of the base branch from which the branch comes. Default: as git finds it")
      ->type_name("COMMIT")
      ->check(kNotEmpty);
}

void add_add_command(CLI::App& app) {
  const auto options = std::make_shared<AddOptions>();
  CLI::App* const command = app.add_subcommand("add", "Add runs. A run that exists already changes nothing");
  command->add_option("RUN", options->runs, "Complete run files")->required();
  add_history_option(*command, options->history);
  add_origin_options(*command, options->origin);
  command->add_flag("--json", options->json, "Print what was added as JSON");
  set_help(
      *command,
      {.notes =
           {"Rejects an incomplete run, a shard (merge first), and another run with the id of an existing "
            "one.",
            "Trends follow the base branch; `peakmark trends --branch` compares another branch with it."},
       .exit_codes = {{"0", "clean"}, {"2", "a run is rejected, or a file cannot be read or written"}}});
  command->callback([options] { add(*options); });
}

// create

void add_create_command(CLI::App& app) {
  const auto history = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("create", "Create an empty history. Does not change an existing one");
  add_history_option(*command, *history);
  set_help(*command, {.exit_codes = {{"0", "clean"}, {"2", "the history cannot be created or read"}}});
  command->callback([history] { open_history(*history, History::Purpose::write); });
}

// set

namespace {

struct SetOptions {
  std::string history;
  std::optional<std::string> base_branch;
  std::optional<std::string> commit_url;
};

void change_settings(const SetOptions& options) {
  if (options.commit_url && !options.commit_url->empty()) trend::check_commit_url(*options.commit_url);
  const bool changes = options.base_branch || options.commit_url;
  const auto history =
      open_history(options.history, changes ? History::Purpose::change : History::Purpose::read);
  history::Settings settings = history->settings();
  if (options.base_branch) settings.base_branch = *options.base_branch;
  if (options.commit_url) settings.commit_url = *options.commit_url;
  if (changes) history->set(settings);
  const auto dash = [](const std::string& text) { return text.empty() ? "–" : plain_text(text); };
  print_text(fmt::format("base branch: {}\ncommit URL: {}\n", dash(settings.base_branch),
                         dash(settings.commit_url)));
}

}  // namespace

void add_set_command(CLI::App& app) {
  const auto options = std::make_shared<SetOptions>();
  CLI::App* const command =
      app.add_subcommand("set", "Change the settings of a history; print them without an option");
  add_history_option(*command, options->history);
  command->add_option("--base-branch", options->base_branch, "The branch that trends follow")
      ->type_name(value_name::kBranch)
      ->check(kNotEmpty);
  command
      ->add_option("--commit-url", options->commit_url,
                   "Link commits in reports to this address, with {commit} in it; '': no links")
      ->type_name("URL");
  set_help(*command,
           {.exit_codes = {{"0", "clean"}, {"2", "wrong usage, or the history cannot be read or written"}}});
  command->callback([options] { change_settings(*options); });
}

}  // namespace peakmark::cli
