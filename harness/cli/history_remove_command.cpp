#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analyse/history/history.hpp"
#include "base/text.hpp"
#include "cli/help.hpp"
#include "cli/history_commands.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::cli {
namespace {

using history::History;
using json_fields::Json;

struct RemoveOptions {
  std::string history;
  std::vector<std::string> runs;
  bool dry = false;
  bool json = false;
};

std::string removed_text(const history::Removed& removed, bool dry) {
  const char* const what = dry ? "would remove" : "removed";
  std::string text;
  for (const history::LoggedRun& run : removed.runs) {
    text += fmt::format("{} {}: {}, suite {} on '{}' ({}){}, {}\n", what, run.id, run.date,
                        plain_text(run.suite), plain_text(run.device), run.backend,
                        run.commit.empty() ? "" : ", commit " + plain_text(short_commit(run.commit)),
                        quantity(run.cases, "case"));
  }
  for (const trend::Acceptance& one : removed.acceptances) {
    text += fmt::format("{} the acceptance of {}{} from {} on: {}\n", what, plain_text(one.case_name),
                        one.metric.empty() ? "" : ", " + one.metric, one.from_run, plain_text(one.reason));
  }
  return text;
}

Json removed_json(const history::Removed& removed) {
  Json runs = Json::array();
  for (const history::LoggedRun& run : removed.runs) {
    runs.push_back({{"run", run.id},
                    {"date", run.date},
                    {"suite", run.suite},
                    {"commit", json_fields::null_if_empty(run.commit)},
                    {"branch", json_fields::null_if_empty(run.branch)},
                    {"device", run.device},
                    {"backend", run.backend},
                    {"cases", run.cases}});
  }
  Json acceptances = Json::array();
  for (const trend::Acceptance& one : removed.acceptances) {
    acceptances.push_back({{"case", one.case_name},
                           {"metric", json_fields::null_if_empty(one.metric)},
                           {"from_run", one.from_run},
                           {"who", one.who},
                           {"when", one.when},
                           {"reason", one.reason}});
  }
  return {{"runs", std::move(runs)}, {"acceptances", std::move(acceptances)}};
}

void remove(const RemoveOptions& options) {
  const auto history = open_history(options.history, History::Purpose::change);
  const history::Removed removed = history->remove(options.runs, options.dry);
  print_text(options.json ? json_fields::pretty(removed_json(removed)) : removed_text(removed, options.dry));
}

}  // namespace

void add_remove_command(CLI::App& app) {
  const auto options = std::make_shared<RemoveOptions>();
  CLI::App* const command = app.add_subcommand("remove", "Remove wrong runs");
  command
      ->add_option("RUN", options->runs,
                   "Ids of runs, as `peakmark history log` lists them; `*` in an id is any text")
      ->required()
      ->check(kNotEmpty);
  add_history_option(*command, options->history);
  command->add_flag("--dry-run", options->dry, "List the runs, and remove nothing");
  command->add_flag("--json", options->json, "Print what was removed as JSON");
  set_help(
      *command,
      {.notes = {"All of the runs are removed, or none. An acceptance that begins at one of them is removed "
                 "with it: what the next run shows must be accepted again."},
       .exit_codes = {{"0", "clean"}, {"2", "a run is unknown, or the history cannot be read or written"}}});
  command->callback([options] { remove(*options); });
}

}  // namespace peakmark::cli
