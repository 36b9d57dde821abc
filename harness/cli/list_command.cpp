#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/selection_options.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "runfile/context_json.hpp"
#include "supervise/run_selection.hpp"
#include "supervise/run_workers.hpp"

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
  CLI::App* const command =
      app.add_subcommand("list", "List the cases of suites, as `run` would measure them here");
  command->add_option("SUITE", selection.suites, "Suite files")->required();
  add_selection_options(*command, selection);
  add_shard_option(*command, selection);
  command
      ->add_option(
          "--worker", options->workers,
          "Program that knows the variants; of several each has a label; default: that of the suite, or "
          "peakmark-bench")
      ->type_name(value_name::kNamedProgram)
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_flag("--full-names", options->full_names, "Print axes at their default too");
  command->add_flag("--json", options->json, "Axes, windows and expected outcomes too, as JSON");
  command->footer(
      "Names leave out axes at their default; --full-names prints them, and --filter finds them.\n"
      "Without a device, cases that leave the backend open are listed with the backend `auto`.\n"
      "Exit code: 0 clean, 2 wrong usage or input.");
  command->callback([options] { list(*options); });
}

}  // namespace peakmark::cli
