#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/runfile/context_json.hpp"
#include "measure/supervise/run_selection.hpp"
#include "measure/supervise/run_workers.hpp"

namespace peakmark::cli {
namespace {

struct ListOptions {
  SelectionOptions selection;
  std::vector<std::string> workers;
  bool full_names = false;
  bool json = false;
};

void list(const ListOptions& options) {
  SweepOptions sweep;
  set_workers(sweep, options.workers);
  sweep.selection = options.selection;
  find_worker_here(sweep, options.selection.named_variants);
  const RunWorkers workers(sweep, -1);
  const Listing listing =
      list_cases(options.selection, workers.description(), list_devices(),
                 [&](const std::vector<PlannedCase>& cases) { workers.check(cases, -1); });
  if (options.json) return print_text(list_json(listing.suite, listing.cases));
  std::string text;
  for (const PlannedCase& planned : listing.cases) {
    text += (options.full_names ? full_case_name(planned.sweep_case) : planned.name) + "\n";
  }
  print_text(text);
}

}  // namespace

void add_list_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<ListOptions>();
  SelectionOptions& selection = options->selection;
  CLI::App* const command = app.add_subcommand("list", "List the cases that `run` would measure here");
  add_cases_argument(*command, selection);
  add_selection_options(*command, selection);
  add_shard_option(*command, selection);
  add_workers_option(*command, options->workers, "Use the variants of this worker; label each of several");
  CLI::Option* const json =
      command->add_flag("--json", options->json, "Print names, axes, windows and expected outcomes as JSON");
  command->add_flag("--full-names", options->full_names, "Print axes with default values too")
      ->excludes(json);
  set_help(
      *command,
      {.notes = {"A case name leaves out axes with default values. --full-names prints all axes; --filter "
                 "matches both.",
                 "Without a device, a case with any backend has the backend `auto`."},
       .exit_codes = {{"0", "clean"}, {"2", "wrong usage or input"}}});
  command->callback([options] { list(*options); });
}

}  // namespace peakmark::cli
