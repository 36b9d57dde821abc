#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/history/address.hpp"
#include "analyse/history/history.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/slurm_jobs.hpp"
#include "cli/slurm_scripts.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/run_selection.hpp"
#include "measure/sweep/suite.hpp"
#include "measure/sweep/suite_document.hpp"
#include "measure/sweep/typed_axes.hpp"

namespace peakmark::cli {
namespace {

namespace fs = std::filesystem;

struct SlurmOptions {
  SlurmPlan plan;
  SelectionOptions selection;  ///< only suites and axes
  fs::path output;
  std::vector<std::string> constraints;
  std::optional<fs::path> balance;
  bool dry_run = false;
  bool wait = false;
  bool status = false;
  bool cancel = false;
  bool rerun = false;
};

/// Throws UsageError for options that `peakmark run` does not have, or that the scripts set themselves:
/// otherwise a task would fail after hours in the queue.
void check_run_options(const SlurmPlan& plan) {
  for (const std::string& word : plan.run_options) {
    for (const std::string_view name : {"--shard", "--balance", "--resume", "-o", "--output", "--rounds"}) {
      if (word != name && !word.starts_with(std::string(name) + "=")) continue;
      throw UsageError(fmt::format(
          "slurm: {} after --: {}; leave it out", name,
          name == "--rounds" ? "rounds need all cases on one device" : "the scripts set it for each task"));
    }
  }
  CLI::App app("", "peakmark");
  Result result;
  add_run_command(app, result);
  // Ends the parsing before the command would run. The options live as long as its callback, which stays.
  bool is_parsed = false;
  app.parse_complete_callback([&] {
    is_parsed = true;
    throw CLI::Success();
  });
  std::vector<std::string> words{"run"};
  words.insert(words.end(), plan.cases.begin(), plan.cases.end());
  words.insert(words.end(), plan.run_options.begin(), plan.run_options.end());
  std::ranges::reverse(words);  // CLI11 takes them in reverse order
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    if (!is_parsed) throw UsageError(fmt::format("slurm: after --: {}", error.what()));
  }
}

std::string history_of(const std::string& option) {
  std::string history = history_place(option);
  if (!history.empty())
    (void)history::parse_address(
        history);  // throws now; otherwise only the last job would find an error in it
  if (history::hide_passwords(history) == history) return history;
  throw UsageError(
      "slurm: --history has a password, which everybody could read in the script; put it into ~/.pgpass");
}

/// Returns the newest run of this suite in a history, as the text of a run file; null if there is none.
std::optional<std::string> newest_run(const std::string& place, const std::string& suite) {
  try {
    const auto history = open_history(place, history::History::Purpose::read);
    std::map<std::string, std::string> suites;  // suite of each run
    for (const history::LoggedRun& run : history->log()) suites[run.id] = run.suite;
    const std::vector<std::string> ids = history->latest();
    const auto id =
        std::find_if(ids.rbegin(), ids.rend(), [&](const std::string& one) { return suites[one] == suite; });
    if (id == ids.rend()) return std::nullopt;
    const Run run = history->run(*id);
    const bool has_seconds =
        std::ranges::any_of(run.observations, [](const Observation& one) { return one.seconds.has_value(); });
    return has_seconds ? std::optional(run_file_text(run, -1)) : std::nullopt;
  } catch (const history::DatabaseError& error) {
    print_message(stderr, "warning: the shards are not balanced by the history: {}\n", error.what());
  } catch (const UsageError&) {  // there is no history yet; the last job creates it
  }
  return std::nullopt;
}

/// Returns the text of the run whose seconds balance the shards of an array: the requested one, else the
/// earlier run at the same path if it has seconds, else the newest in the history.
std::optional<std::string> balancing_run(const SlurmOptions& options, const ShardArray& array) {
  if (options.balance) {
    (void)recorded_seconds(*options.balance);
    return read_text_file(*options.balance);
  }
  try {
    if (fs::exists(array.run_file)) {
      (void)recorded_seconds(array.run_file);
      return read_text_file(array.run_file);
    }
  } catch (const UsageError&) {  // it has no seconds
  }
  const SlurmPlan& plan = options.plan;
  if (plan.history.empty()) return std::nullopt;
  std::string suite;
  for (const fs::path& file : options.selection.suites) {
    suite += (suite.empty() ? "" : "+") + read_suite_document(file).name;
  }
  for (const std::string& axis : options.selection.axes) suite += " " + axis;
  return newest_run(plan.history, suite);
}

void complete_plan(SlurmOptions& options, const std::vector<std::string>& words) {
  SlurmPlan& plan = options.plan;
  if (options.selection.suites.empty())
    throw UsageError("slurm: no suite; name one, or use --status, --cancel or --rerun");
  plan.cases = case_words(options.selection);
  find_suite_worker(options.selection.suites);     // throws if a suite cannot be read
  (void)parse_typed_axes(options.selection.axes);  // throws if an axis is malformed
  plan.run_options = program_after_dashes(words).value_or(std::vector<std::string>());
  check_run_options(plan);
  plan.history = history_of(plan.history);
  plan.peakmark = own_program();
  plan.working_folder = fs::current_path();
  plan.run_file = fs::absolute(options.output).lexically_normal();
  plan.folder = slurm_folder(plan.run_file);
  plan.arrays = shard_arrays(plan.run_file, options.constraints);
}

/// Throws UsageError if jobs of an earlier submission into this run file have not ended.
void check_ended(const SlurmJobs& jobs, const fs::path& run_file) {
  const auto queued = queued_tasks(jobs);
  if (queued.empty()) return;
  throw UsageError(
      fmt::format("{}: {} of its jobs are still in the queue, the first {} ({}); wait for them, or use "
                  "`peakmark slurm --cancel -o` with this file",
                  run_file.string(), queued.size(), queued.front().id, queued.front().state));
}

fs::path previous_folder(const fs::path& folder) {
  return folder.string() + ".previous";
}

/// Renames the folder of an earlier submission, whose shards do not belong to this one.
void set_folder_aside(const fs::path& folder) {
  if (!fs::exists(folder)) return;
  fs::remove_all(previous_folder(folder));
  fs::rename(folder, previous_folder(folder));
}

/// Restores the files of the earlier submission, after a failed one.
void take_back_earlier(const SlurmPlan& plan) {
  for (const ShardArray& array : plan.arrays) take_back_run_set_aside(array.run_file);
  fs::remove_all(plan.folder);
  if (fs::exists(previous_folder(plan.folder))) fs::rename(previous_folder(plan.folder), plan.folder);
}

void print_submitted(const SlurmJobs& jobs, const fs::path& run_file) {
  std::string text;
  for (const ArrayJobs& array : jobs.arrays) {
    if (!array.shards.empty())
      text += fmt::format("job {}: {}/{}\n", array.shards, array.folder, kShardsScript);
    text += fmt::format("job {}: {}/{}\n", array.merge, array.folder, kMergeScript);
  }
  text += fmt::format("job {}: {}\n", jobs.finish, (slurm_folder(run_file) / kFinishScript).string());
  print_text(text);
}

int submit(SlurmOptions& options) {
  SlurmPlan& plan = options.plan;
  for (ShardArray& array : plan.arrays) array.balance = balancing_run(options, array);
  const std::vector<SlurmScript> scripts = slurm_scripts(plan);
  if (options.dry_run) {
    for (const SlurmScript& script : scripts) {
      print_text(fmt::format("==> {} <==\n{}\n", script.file.string(), script.text));
    }
    return 0;
  }
  check_slurm();
  if (const auto earlier = read_jobs(plan.run_file)) check_ended(*earlier, plan.run_file);
  set_folder_aside(plan.folder);
  SlurmJobs jobs{plan.tasks, "", {}};
  for (const ShardArray& array : plan.arrays) {
    fs::create_directories(array.folder);
    if (array.balance) replace_text_file(array.folder / kBalanceRun, *array.balance);
    set_run_file_aside(array.run_file);
    jobs.arrays.push_back({array.run_file.string(), array.folder.string(), "", ""});
  }
  for (const SlurmScript& script : scripts) replace_text_file(script.file, script.text);
  int code = 0;
  try {
    code = submit_jobs(jobs, plan.run_file, {}, options.wait ? SubmitUntil::ended : SubmitUntil::submitted);
  } catch (const Error&) {
    take_back_earlier(plan);
    throw;
  }
  print_submitted(jobs, plan.run_file);
  return code;
}

SlurmJobs submitted_jobs(const fs::path& run_file) {
  if (auto jobs = read_jobs(run_file)) return *jobs;
  throw UsageError(
      fmt::format("{}: not submitted with `peakmark slurm`: {} has no jobs.json; name the run file of -o",
                  run_file.string(), slurm_folder(run_file).string()));
}

int rerun(const SlurmOptions& options, const fs::path& run_file) {
  SlurmJobs jobs = submitted_jobs(run_file);
  check_ended(jobs, run_file);
  fs::remove(slurm_folder(run_file) / kExitCode);
  ShardsByRun all_missing;
  for (const ArrayJobs& array : jobs.arrays) {
    const std::vector<int>& missing = all_missing[array.run] = missing_shards(array.array(), jobs.tasks);
    print_message(stderr, "{}: {}\n", array.run,
                  missing.empty() ? "no shard is missing; merging again"
                                  : fmt::format("measuring shards {}", fmt::join(missing, ",")));
    set_run_file_aside(array.run);
  }
  const int code =
      submit_jobs(jobs, run_file, all_missing, options.wait ? SubmitUntil::ended : SubmitUntil::submitted);
  print_submitted(jobs, run_file);
  return code;
}

/// Returns the exit code of the last job; `nothing` if it has not ended.
int print_status(const fs::path& run_file) {
  const SlurmJobs jobs = submitted_jobs(run_file);
  const auto queued = queued_tasks(jobs);
  print_text(status_table(jobs, queued));
  const fs::path file = slurm_folder(run_file) / kExitCode;
  const bool waits = std::ranges::any_of(queued, [&](const auto& one) { return one.id == jobs.finish; });
  if (!waits && fs::exists(file)) {
    const std::string text = read_text_file(file);
    if (const auto code = parse_number<int>(text.substr(0, text.find('\n')))) {
      print_message(stderr, "the last job ended with exit code {}; its log: {}\n", *code,
                    (slurm_folder(run_file) / "finish.log").string());
      return *code;
    }
  }
  print_message(stderr, "{}\n",
                waits || !queued.empty()
                    ? "not finished"
                    : "the last job has left no exit code; `peakmark slurm --rerun -o` with this file "
                      "submits what is missing");
  return static_cast<int>(ExitCode::nothing);
}

int slurm(SlurmOptions& options, const std::vector<std::string>& words) {
  const fs::path run_file = fs::absolute(options.output).lexically_normal();
  const bool is_submission = !options.status && !options.cancel && !options.rerun;
  if (!is_submission && (!options.selection.suites.empty() || program_after_dashes(words))) {
    throw UsageError(
        "slurm: --status, --cancel and --rerun take no suite and no options after --: -o names the "
        "submission");
  }
  if (options.status) return print_status(run_file);
  if (options.cancel) {
    cancel_jobs(submitted_jobs(run_file).ids());
    return 0;
  }
  if (options.rerun) return rerun(options, run_file);
  complete_plan(options, words);
  return submit(options);
}

}  // namespace

void add_slurm_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<SlurmOptions>();
  SlurmPlan& plan = options->plan;
  CLI::App* const command = app.add_subcommand(
      "slurm", "Measure suites as a job array of Slurm, then merge, check and add to a history");
  command->add_option_function<std::vector<std::string>>(
      "SUITE",
      [options](const std::vector<std::string>& words) {
        for (const std::string& word : words) {
          if (!take_axis(word, options->selection)) options->selection.suites.emplace_back(word);
        }
      },
      "Suite files; values of axes, such as nx=512,1024 n=4..64");
  command
      ->add_option("-o,--output", options->output,
                   "Write this run file; its folder must be shared by all nodes")
      ->type_name(value_name::kRun)
      ->required()
      ->check(kFileName);
  const auto of_submission = [options](CLI::Option* option) {
    return only_when(option->group("Only with SUITE"), "with SUITE",
                     [options] { return !options->selection.suites.empty(); });
  };
  of_submission(add_axis_option(*command, options->selection));
  of_submission(command->add_option("--tasks", plan.tasks,
                                    "Distribute the cases over this many tasks, for each kind of device"))
      ->type_name("INT")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  const auto text = [&](const std::string& name, std::optional<std::string>& value, const char* type,
                        const char* about) {
    of_submission(command->add_option(name, value, about))->type_name(type);
  };
  text("--partition", plan.partition, "NAME", "Submit all jobs to this partition");
  text("--gres", plan.gres, "GRES", "Give each task these resources, such as gpu:1");
  text("--time", plan.time, "TIME", "End a task after this time, such as 02:00:00");
  text("--account", plan.account, "NAME", "Charge all jobs to this account");
  const auto list = [&](const std::string& name, std::vector<std::string>& values, const char* type,
                        const char* about) {
    repeatable(of_submission(command->add_option(name, values, about)))->type_name(type);
  };
  list("--constraint", options->constraints, "FEATURES",
       "Measure on nodes with these features. Of several, each gets an array and a run of its own");
  list("--sbatch-option", plan.sbatch_options, "OPTION",
       "Add an option of sbatch to all jobs: --sbatch-option=--qos=low");
  list("--merge-option", plan.merge_options, "OPTION",
       "Add an option of sbatch to the jobs that need no device: --merge-option=--partition=cpu");
  of_submission(command->add_option("--balance", options->balance,
                                    "Balance the shards by the seconds in this run file. Default: the "
                                    "earlier run of -o, else the newest in --history"))
      ->type_name(value_name::kRun);
  of_submission(add_history_option(*command, plan.history));
  CLI::Option* const dry_run = of_submission(
      command->add_flag("--dry-run", options->dry_run, "Print the scripts, and submit nothing"));
  CLI::Option* const wait =
      command->add_flag("--wait", options->wait, "Wait for the last job, and exit with its code")
          ->excludes(dry_run);
  CLI::Option* const status = command->add_flag("--status", options->status, "Print how far a submission is");
  CLI::Option* const cancel =
      command->add_flag("--cancel", options->cancel, "Cancel the jobs of a submission");
  CLI::Option* const rerun = command->add_flag(
      "--rerun", options->rerun, "Submit the missing and unfinished shards of a submission again");
  status->excludes(cancel)->excludes(rerun)->excludes(wait);
  cancel->excludes(rerun)->excludes(wait);
  set_help(
      *command,
      {.notes =
           {"Options of `peakmark run` follow --: `peakmark slurm nightly.toml --tasks 8 -o nightly.json -- "
            "--memory-only`.",
            "Scripts, shards and logs are in RUN.slurm. The scripts can be edited and submitted with "
            "sbatch.",
            "A task that is preempted and requeued continues with the cases that it has not measured."},
       .exit_codes = {{"0", "submitted; with --wait and --status: the last job found nothing"},
                      {"1", "with --wait and --status: a verdict failed"},
                      {"2", "wrong usage or input; no Slurm, or Slurm refuses a script"},
                      {"3", "with --wait and --status: a case crashed, hung or gave a wrong result"},
                      {"4", "with --wait: nothing was measured; with --status also: not finished"}}});
  command->callback([options, &result] { result.program_code = slurm(*options, result.words); });
}

}  // namespace peakmark::cli
