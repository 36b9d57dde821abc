#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/case_limit_option.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/history_option.hpp"
#include "cli/seconds.hpp"
#include "cli/selection_options.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "history/run_record.hpp"
#include "runfile/rounds.hpp"
#include "supervise/run_workers.hpp"
#include "supervise/sweep_run.hpp"

namespace peakmark::cli {
namespace {

struct RunOptions {
  SweepOptions sweep;
  std::optional<double> timeout;
  std::optional<double> deadline;
  std::vector<std::string> variants;
  std::vector<std::string> workers;
  std::optional<std::string> confirm;
  bool json = false;
};

CasesToConfirm suspicious_against(const std::string& place, const Run& measured) {
  std::string reason = "the history cannot be read";
  try {
    const auto opened = open_history(place, history::History::Purpose::read);
    return {history::suspicious_cases(opened->read(), opened->device_name(measured.context.device), measured),
            ""};
  } catch (const history::DatabaseError& error) {
    reason += ": " + error.reason();
    print_message(stderr, "warning: the run is not confirmed: {}\n", error.what());
  } catch (const std::exception& error) {
    print_message(stderr, "warning: the run is not confirmed: {}\n", error.what());
  }
  return {{}, reason};
}

/// Throws UsageError where there is no history. A database that fails costs the confirmation, not the run.
void check_history(const std::string& place) {
  try {
    open_history(place, history::History::Purpose::read);
  } catch (const history::DatabaseError& error) {
    print_message(stderr, "warning: {}; the run measures, and tries again to confirm at its end\n",
                  error.what());
  }
}

void run(RunOptions& options, Result& result) {
  if (options.sweep.rounds && options.sweep.selection.shard) {
    throw UsageError(
        "--rounds and --shard do not go together: rounds measure all cases in turns on one device, and parts "
        "taken elsewhere were not in turns; leave one out, or choose cases with --filter");
  }
  set_workers(options.sweep, options.workers);
  if (options.confirm) {
    options.sweep.check_first = [&options] { check_history(*options.confirm); };
    options.sweep.confirm = [&options](const Run& run) { return suspicious_against(*options.confirm, run); };
  }
  set_case_limit(options.sweep, options.timeout);
  if (options.deadline) options.sweep.deadline = milliseconds_of("--deadline", *options.deadline);
  if (!options.variants.empty()) {
    options.sweep.selection.variants = {options.variants.at(0), options.variants.at(1)};
  }
  result.code = run_sweep(options.sweep);
  if (!options.json || !std::filesystem::exists(options.sweep.run_file)) return;
  print_text(read_text_file(options.sweep.run_file));
}

}  // namespace

void add_run_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<RunOptions>();
  SweepOptions& sweep = options->sweep;
  SelectionOptions& selection = sweep.selection;
  CLI::App* const command = app.add_subcommand("run", "Measure every case of suites into a run file");
  command->add_option("SUITE", selection.suites, "Suite files")->required();
  command->add_option("-o,--output", sweep.run_file, "Run file to write")
      ->type_name(value_name::kRun)
      ->capture_default_str()
      ->check(kFileName);
  add_selection_options(*command, selection);
  command->add_option("--require", selection.require, "cuda or gpu: exit 4 where there is none")
      ->check(CLI::IsMember({"cuda", "gpu"}))
      ->envname("PEAKMARK_REQUIRE");
  add_shard_option(*command, selection);
  command->add_flag("--resume", sweep.resume, "Go on where a run into this file stopped");
  command->add_flag("--memory-only", sweep.memory_only, "Measure no times");
  CLI::Option* const rounds =
      command
          ->add_option("--rounds", sweep.rounds,
                       "Time in rounds, a block a case in each, in another order and process: 9 or more")
          ->check(CLI::Range(1, kMaxRounds));
  CLI::Option* const memory_only = command->get_option("--memory-only");
  rounds->excludes(memory_only);
  command->add_option("--repetitions", sweep.repetitions, "Timings of each case")
      ->check(CLI::Range(1, 1000))
      ->excludes(rounds);
  command
      ->add_option(
          "--cache", sweep.cache,
          "Last-level cache when a timed call begins: cold (flushed), hot (calls in a row), or both; "
          "default: cold on a GPU, hot on a CPU")
      ->check(CLI::IsMember({"cold", "hot", "both"}))
      ->excludes(memory_only);
  command->add_option("--seed", sweep.seed, "Of the orders of rounds; default: one by chance, recorded")
      ->needs(rounds);
  command
      ->add_option(
          "--variants", options->variants,
          "The old and the new one: only these, and a second look at what seems to differ; for `compare`")
      ->type_name(value_name::kVariant)
      ->expected(2)
      ->needs(rounds);
  command->add_option("--timeout", options->timeout, kTimeoutHelp)->type_name(value_name::kSeconds);
  command->add_option("--deadline", options->deadline, "Seconds that the whole run may take")
      ->type_name(value_name::kSeconds);
  command->add_flag("--no-wait", sweep.no_wait, "Exit 4 where another run uses the device");
  command
      ->add_option(
          "--worker", options->workers,
          "Program that measures; of several each has a label, with which the names of its variants end; "
          "default: that of the suite, or peakmark-bench beside peakmark")
      ->type_name(value_name::kNamedProgram)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option(
          "--confirm", options->confirm,
          "History (file or URL) that exists: what looks suspicious against it is timed again at the end")
      ->type_name(value_name::kHistory)
      ->excludes(memory_only)
      ->excludes(rounds);
  command->add_flag("--host-name", sweep.host_name,
                    "Write the name of this machine into the run file; else a mark that is not its name");
  command->add_flag("--json", options->json, "Print the run file on standard output as well");
  command->footer(
      "--filter finds axes at their default too, which names leave out: `peakmark list SUITE --full-names` "
      "prints them.\n"
      "A run that is killed leaves RUN.partial, with all that was measured; --resume goes on from there.\n"
      "Runs on one device queue: each waits until the one before it has ended, or exits 4 with --no-wait.\n"
      "Ctrl-C writes the run file and ends; a second one ends at once, and RUN.partial stays.\n"
      "Exit code: 0 clean, 2 wrong usage or input, 3 a case crashed, hung or gave a wrong answer, 4 nothing "
      "was\n"
      "measured, or less than --require, 5 the recorder could not work, 130 interrupted.");
  command->callback([options, &result] { run(*options, result); });
}

}  // namespace peakmark::cli
