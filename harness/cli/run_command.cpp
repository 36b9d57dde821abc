#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyse/history/run_record.hpp"
#include "base/pattern.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/runfile/rounds.hpp"
#include "measure/supervise/run_workers.hpp"
#include "measure/supervise/sweep_run.hpp"
#include "record/ledger/repetitions.hpp"

namespace peakmark::cli {
namespace {

const CLI::Validator kDeviceClass(
    [](const std::string& text) -> std::string {
      static const Pattern name("[A-Za-z0-9._-]+");
      return name.matches(text)
                 ? ""
                 : fmt::format("'{}' is not a name of a class: use letters, digits, '.', '_' and '-'", text);
    },
    "", "");

struct RunOptions {
  SweepOptions sweep;
  std::vector<std::string> variants;
  std::vector<std::string> workers;
  std::optional<std::string> confirm;
  std::optional<MemoryBudget> budget;
  bool json = false;
};

CasesToConfirm suspicious_against(const std::string& place, const Run& measured) {
  std::string reason = "the history cannot be read";
  try {
    const auto opened = open_history(place, history::History::Purpose::read);
    const auto device = find_device(*opened, measured.context);
    if (!device) {
      if (!opened->devices().empty()) {
        print_message(
            stderr,
            "note: no case is confirmed: '{}' ({}) has no run in the history; if it is another name "
            "of a known device: `peakmark history rename-device`\n",
            measured.context.filed_under(), measured.context.backend);
      }
      return {{}, ""};
    }
    return {history::suspicious_cases(opened->read_device(*device), measured), ""};
  } catch (const history::DatabaseError& error) {
    reason += ": " + error.reason();
    print_message(stderr, "warning: the run is not confirmed: {}\n", error.what());
  } catch (const std::exception& error) {
    print_message(stderr, "warning: the run is not confirmed: {}\n", error.what());
  }
  return {{}, reason};
}

/// Throws UsageError if there is no history. If the database fails, the run continues without confirmation.
void check_history(const std::string& place) {
  try {
    open_history(place, history::History::Purpose::read);
  } catch (const history::DatabaseError& error) {
    print_message(stderr,
                  "warning: {}; measuring anyway, and trying again to confirm at the end of the run\n",
                  error.what());
  }
}

void run(RunOptions& options, Result& result) {
  SweepOptions& sweep = options.sweep;
  sweep.memory_only = sweep.memory_only || sweep.sequences || sweep.repeat_call != 0 || sweep.guard;
  set_workers(options.sweep, options.workers);
  find_worker_here(sweep, sweep.selection.named_variants);
  if (options.confirm) {
    options.sweep.check_first = [&options] { check_history(*options.confirm); };
    options.sweep.confirm = [&options](const Run& run) { return suspicious_against(*options.confirm, run); };
  }
  if (!options.variants.empty()) {
    options.sweep.selection.variants = {options.variants.at(0), options.variants.at(1)};
  }
  const SelectionOptions& selection = options.sweep.selection;
  DeviceChoice choice{std::nullopt, selection.device};
  if (selection.backend) choice.backend = parse_backend(*selection.backend);
  options.sweep.budget = budget_bytes(options.budget, choice);
  result.code = run_sweep(options.sweep);
  if (!options.json || !std::filesystem::exists(options.sweep.run_file)) return;
  print_text(read_text_file(options.sweep.run_file));
}

}  // namespace

void add_run_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<RunOptions>();
  SweepOptions& sweep = options->sweep;
  SelectionOptions& selection = sweep.selection;
  CLI::App* const command = app.add_subcommand("run", "Measure the cases of suites into a run file");
  add_cases_argument(*command, selection);
  command->add_option("-o,--output", sweep.run_file, "Write this run file")
      ->type_name(value_name::kRun)
      ->capture_default_str()
      ->check(kFileName);
  add_selection_options(*command, selection);
  add_require_option(*command, selection)->envname("PEAKMARK_REQUIRE");
  command
      ->add_option("--device-class", selection.device_class,
                   "File the run under this name instead of its device: bytes and outcomes are compared with "
                   "those of all devices of the class, times only with those of the same device")
      ->type_name("NAME")
      ->check(kDeviceClass)
      ->envname("PEAKMARK_DEVICE_CLASS");
  CLI::Option* const shard = add_shard_option(*command, selection);
  command->add_flag("--resume", sweep.resume, "Continue the stopped run of this run file");
  CLI::Option* const memory_only = command->add_flag("--memory-only", sweep.memory_only, "Measure no times");
  CLI::Option* const sequences = command->add_flag(
      "--sequences", sweep.sequences,
      "Record every allocation of each case in order, with its call site; measure no times");
  CLI::Option* const repeat_call =
      command
          ->add_option("--repeat-call", sweep.repeat_call,
                       "Make this many further calls of each case, 4 or more: `check` fails a case if each "
                       "call leaves memory behind. Measures no times")
          ->type_name("N")
          ->check(CLI::Range(static_cast<int>(kMinRepetitions), 1'000'000));
  CLI::Option* const guard = command->add_flag(
      "--guard", sweep.guard,
      "Put guard bytes around each array of a worker: a case that writes outside of an array fails. Measures "
      "the same bytes as without, and no times");
  const auto of_times = [&selection](CLI::Option* option) { return only_with_times(option, selection); };
  CLI::Option* const rounds =
      of_times(command->add_option(
                   "--rounds", sweep.rounds,
                   "Time in this many A/B rounds, 9 or more: a block of each case in each round, in another "
                   "order and process. All cases are on one device: select cases with --filter, not --shard"))
          ->check(CLI::Range(1, kMaxRounds))
          ->excludes(shard)
          ->excludes(memory_only)
          ->excludes(sequences)
          ->excludes(repeat_call)
          ->excludes(guard);
  of_times(command->add_option("--repetitions", sweep.repetitions, "Time each case this many times"))
      ->check(CLI::Range(1, 1000))
      ->excludes(rounds)
      ->excludes(memory_only)
      ->excludes(sequences)
      ->excludes(repeat_call)
      ->excludes(guard);
  of_times(command->add_option(
               "--cache", sweep.cache,
               "Time with a cold last-level cache (flushed before each call), a hot one (calls in a row), or "
               "both. Default: cold on a GPU, hot on a CPU"))
      ->check(CLI::IsMember({"cold", "hot", "both"}))
      ->excludes(memory_only)
      ->excludes(sequences)
      ->excludes(repeat_call)
      ->excludes(guard);
  command
      ->add_option("--seed", sweep.seed,
                   "Order the rounds by this seed. Default: a random seed, which is recorded")
      ->type_name("INT")
      ->needs(rounds);
  command
      ->add_option("--variants", options->variants,
                   "Measure only an old and a new variant, and confirm differences, for `compare`")
      ->type_name(value_name::kVariant)
      ->expected(2)
      ->needs(rounds);
  add_budget_option(
      *command, options->budget,
      "Let each case use only this much memory of the device, such as 16 GiB: one that needs more is "
      "out_of_memory");
  add_max_allocation_option(*command, sweep.max_allocation);
  add_timeout_option(*command, sweep.case_limit);
  add_seconds_option(*command, "--deadline", sweep.deadline, "End the whole run after this time");
  command->add_flag("--no-wait", sweep.no_wait, "Exit with 4 if another run uses the device");
  add_workers_option(
      *command, options->workers,
      "Measure with this worker. Label each of several: the label becomes part of the names of "
      "its variants");
  of_times(command->add_option(
               "--confirm", options->confirm,
               "Time cases that look suspicious against this history (file or URL) again at the end"))
      ->type_name(value_name::kHistory)
      ->excludes(memory_only)
      ->excludes(rounds)
      ->excludes(sequences)
      ->excludes(repeat_call)
      ->excludes(guard);
  command->add_flag("--host-name", sweep.host_name,
                    "Write the host name into the run file. Default: a hash of it");
  command->add_flag("--json", options->json, "Print the run file on standard output as well");
  set_help(
      *command,
      {.notes =
           {"--filter matches axes with default values too, which case names leave out: `peakmark list SUITE "
            "--full-names` prints them.",
            "A killed run leaves RUN.partial with all measurements so far; --resume continues it. Ctrl-C "
            "writes the run file and ends; a second Ctrl-C ends at once and leaves RUN.partial.",
            "Runs on one device wait for each other, or exit with 4 with --no-wait."},
       .exit_codes = {{"0", "clean"},
                      {"2", "wrong usage or input"},
                      {"3", "a case crashed, hung or gave a wrong result"},
                      {"4", "nothing was measured, or less than --require"},
                      {"5", "the recorder could not work"},
                      {"130", "interrupted"}}});
  command->callback([options, &result] { run(*options, result); });
}

}  // namespace peakmark::cli
