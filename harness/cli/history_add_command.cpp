#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "analyse/history/address.hpp"
#include "analyse/history/history.hpp"
#include "analyse/trend/reports.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/history_commands.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark::cli {

using history::History;
using json_fields::Json;
using json_fields::pretty;

// add

namespace {

struct AddOptions {
  AddTarget target;
  std::vector<std::filesystem::path> runs;
};

history::Added add_file(History& history, const FileRun& one, const FoundOrigin& found,
                        history::Placement placement) {
  try {
    history::Added added = history.add(one.run, found.origin, placement);
    if (!added.was_there) added.notes.insert(added.notes.begin(), found.notes.begin(), found.notes.end());
    return added;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", one.file.string(), error.what()));
  }
}

/// Returns ` of branch 'pull/12'` for a run that is not of the base branch.
std::string branch_text(const history::Added& added) {
  return added.is_of_base ? "" : fmt::format(" of branch '{}'", plain_text(added.branch));
}

}  // namespace

namespace {

/// Adds runs one by one, on a new connection if the previous one was lost.
class RunAdder {
 public:
  RunAdder(const AddTarget& target, const std::vector<FileRun>& runs) : target_(target), runs_(runs) {}

  /// Adds the runs that are not added yet.
  void add_rest() {
    const auto history = open_history(target_.history, History::Purpose::write);
    history_name_ = history->address().name();
    while (next_ < runs_.size()) {
      const FileRun& one = runs_[next_];
      found_ = find_origin(target_.origin, current_environment(), one.run.context.commit,
                           history->settings().base_branch);
      const history::Added added = add_file(*history, one, found_, target_.placement);
      ++next_;  // before anything is printed, because it is in the database now
      report(one, added);
    }
  }

  [[nodiscard]] Json json() const { return {{"history", history_name_}, {"runs", list_}}; }

  /// Returns the command that adds the runs that are not added yet.
  [[nodiscard]] std::string command(const std::string& name,
                                    const std::vector<std::string>& more_words) const {
    std::vector<std::string> words;
    for (std::size_t i = next_; i < runs_.size(); ++i) {
      const std::string file = runs_[i].file.string();
      if (words.empty() || words.back() != file) words.push_back(file);  // a file may have several runs
    }
    words.insert(words.end(), more_words.begin(), more_words.end());
    if (target_.placement == history::Placement::date) words.emplace_back("--by-date");
    const auto option = [&](const char* option_name, const std::string& value) {
      if (!value.empty()) words.insert(words.end(), {option_name, value});
    };
    // The facts of a CI job are unknown where the command is repeated.
    const history::RunOrigin& origin = found_.origin;
    option("--branch", target_.origin.branch.value_or(origin.branch));
    option("--base-branch", target_.origin.base_branch.value_or(origin.base_branch));
    const bool has_merge_base = origin.branch != origin.base_branch && !origin.base_commits.empty();
    option("--merge-base",
           target_.origin.merge_base.value_or(has_merge_base ? origin.base_commits.front() : ""));
    if (!target_.history.empty()) option("--history", history::hide_passwords(target_.history));
    std::string text = "peakmark " + name;
    for (const std::string& word : words) text += " " + shell_word(word);
    return text;
  }

  [[nodiscard]] std::size_t left() const { return runs_.size() - next_; }

  /// Finds the origin of the next run if no connection was made.
  void find_next_origin() {
    if (next_ < runs_.size() && history_name_.empty())
      found_ = find_origin(target_.origin, current_environment(), runs_[next_].run.context.commit, "");
  }

 private:
  void report(const FileRun& one, const history::Added& added) {
    const RunContext& context = one.run.context;
    print_message(stderr, "{}: {} {}, {}: run {}{} of '{}' ({}){}\n", one.file.string(), context.id,
                  added.was_there ? "exists already, nothing changed" : "added",
                  quantity(one.run.observations.size(), "case"), added.runs_of_device, branch_text(added),
                  plain_text(context.filed_under()), context.backend,
                  added.is_of_base && added.runs_of_device == 1 ? "; no baseline yet" : "");
    if (!added.is_of_base) {
      print_message(stderr, "to compare it with its merge base: peakmark trends --branch {}\n",
                    shell_word(added.branch));
    }
    for (const std::string& note : added.notes) print_message(stderr, "note: {}\n", plain_text(note));
    list_.push_back({{"file", one.file.string()},
                     {"run", context.id},
                     {"branch", json_fields::null_if_empty(added.branch)},
                     {"is_of_base", added.is_of_base},
                     {"was_there", added.was_there},
                     {"runs_of_device", added.runs_of_device},
                     {"notes", added.notes}});
  }

  const AddTarget& target_;
  const std::vector<FileRun>& runs_;
  std::size_t next_ = 0;
  FoundOrigin found_;  ///< origin of the next run
  std::string history_name_;
  Json list_ = Json::array();
};

}  // namespace

void add_runs(const AddTarget& target, std::vector<FileRun> runs, const std::string& command,
              const std::vector<std::string>& more_words) {
  std::ranges::stable_sort(runs, {}, [](const FileRun& one) { return one.run.context.date; });
  RunAdder adder(target, runs);
  const auto pause = [](const history::DatabaseLost& error, std::chrono::milliseconds wait) {
    print_message(stderr, "{}; trying again in {}\n", error.what(),
                  format_duration(std::chrono::duration<double, std::nano>(wait).count()));
    std::this_thread::sleep_for(wait);
  };
  try {
    history::with_retries(
        history::backoff_waits(*target.retry), [&] { adder.add_rest(); }, pause);
  } catch (const history::DatabaseLost& error) {
    adder.find_next_origin();
    print_message(
        stderr, "{}\n",
        fmt::format("not added: {}; the files are complete. When the database answers, add them with\n  {}",
                    quantity(adder.left(), "run"), adder.command(command, more_words)));
    throw;
  }
  if (target.json) print_text(pretty(adder.json()));
}

void add_target_options(CLI::App& command, AddTarget& target) {
  add_history_option(command, target.history);
  add_origin_options(command, target.origin);
  add_seconds_option(command, "--retry", target.retry,
                     "Keep trying this long if the database does not answer. Default: 30");
  command.add_flag_callback(
      "--by-date", [&target] { target.placement = history::Placement::date; },
      "Place the runs by their dates, for results of the past. Default: after all others, except that a run "
      "of an older commit is before those of newer ones");
  command.add_flag("--json", target.json, "Print what was added as JSON");
}

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
  add_target_options(*command, options->target);
  set_help(
      *command,
      {.notes =
           {"Rejects an incomplete run, a shard (merge first), and another run with the id of an existing "
            "one, and a date later than tomorrow.",
            "Several runs are added in the order of their dates.",
            "Trends follow the base branch; `peakmark trends --branch` compares another branch with it."},
       .exit_codes = {{"0", "clean"}, {"2", "a run is rejected, or a file cannot be read or written"}}});
  command->callback([options] {
    std::vector<FileRun> runs;
    runs.reserve(options->runs.size());
    for (const std::filesystem::path& path : options->runs) runs.push_back({path, read_run(path)});
    add_runs(options->target, std::move(runs), "history add");
  });
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
