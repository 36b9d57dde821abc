#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/duration.hpp"
#include "base/message.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/history_option.hpp"
#include "cli/output_file.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "history/history.hpp"
#include "run/text_file.hpp"
#include "trend/reports.hpp"

namespace peakmark::cli {
namespace {

using history::History;
using trend::Change;
using trend::DeviceHistory;
using trend::DeviceTrends;

struct TrendsOptions {
  std::string history;
  bool json = false;
  std::optional<std::filesystem::path> markdown;
};

std::vector<DeviceTrends> find(History& history, const std::vector<DeviceHistory>& devices) {
  const trend::AllocationsAtPeak at_peak = [&history](const std::string& case_name, const std::string& run) {
    return history.at_peak(case_name, run);
  };
  std::vector<DeviceTrends> all;
  all.reserve(devices.size());
  for (const DeviceHistory& device : devices)
    all.push_back({&device, trend::find_trends(device, {}, at_peak), {}});
  return all;
}

ExitCode show_trends(const TrendsOptions& options) {
  if (options.markdown) remove_earlier_outputs({*options.markdown}, {options.history});
  const auto history = open_history(options.history, History::Purpose::read);
  const std::vector<DeviceHistory> devices = history->read();
  std::vector<DeviceTrends> trends = find(*history, devices);
  for (DeviceTrends& device : trends) {
    device.standings = trend::find_standings(*device.history, device.trends,
                                             [&](const std::string& id) { return history->run(id); });
  }
  if (options.markdown) replace_text_file(*options.markdown, trend::trends_markdown(trends));
  print_text(options.json ? trend::trends_json(trends) : trend::trends_table(trends));
  const bool is_open = std::ranges::any_of(
      trends, [](const DeviceTrends& device) { return trend::has_open_regression(device.trends); });
  return is_open ? ExitCode::verdict : ExitCode::clean;
}

struct AcceptOptions {
  std::string history;
  std::string case_name;
  std::string reason;
  std::optional<std::string> metric;
  std::optional<std::string> from;
  std::optional<std::string> who;
};

/// The account that runs a job of CI, which everybody sees there; empty elsewhere: reports are published, and
/// a user's name of this machine is not.
std::string who_am_i() {
  for (const char* const variable : {"GITHUB_ACTOR", "GITLAB_USER_LOGIN"}) {
    const char* const name = std::getenv(variable);
    if (name != nullptr && *name != '\0') return name;
  }
  return "";
}

/// The runs from which on levels of this case are to be accepted: of its open regressions and suspicions.
std::vector<trend::Acceptance> open_changes(const std::vector<DeviceTrends>& devices,
                                            const AcceptOptions& options) {
  std::vector<trend::Acceptance> open;
  for (const DeviceTrends& device : devices) {
    for (const Change& change : device.trends.changes) {
      if (change.case_name != options.case_name) continue;
      if (options.metric && change.metric != *options.metric) continue;
      const bool is_suspicion = change.verdict == trend::Verdict::suspicious && !change.state;
      if (trend::is_open(change) || is_suspicion)
        open.push_back({change.case_name, change.metric, device.history->runs[change.first].id, {}, {}, {}});
    }
  }
  return open;
}

void accept(const AcceptOptions& options) {
  if (options.reason.find_first_not_of(" \t\r\n") == std::string::npos) {
    throw UsageError("--reason: say why; whoever reads the history later will want to know");
  }
  if (options.metric && std::ranges::find(trend::metric::all, *options.metric) == trend::metric::all.end()) {
    throw UsageError(
        fmt::format("--metric {}: there are {}", *options.metric, fmt::join(trend::metric::all, ", ")));
  }
  const auto history = open_history(options.history, History::Purpose::change);
  std::vector<trend::Acceptance> acceptances;
  if (options.from) {
    acceptances.push_back({options.case_name, options.metric.value_or(""), *options.from, {}, {}, {}});
  } else {
    const std::vector<DeviceHistory> devices = history->read();
    acceptances = open_changes(find(*history, devices), options);
    if (acceptances.empty()) {
      throw UsageError(fmt::format(
          "{}: no open change{}; `peakmark trends` names the cases that have one, and --from RUN accepts the "
          "level from a run on whether a change was found or not",
          options.case_name, options.metric ? " of " + *options.metric : std::string()));
    }
  }
  for (trend::Acceptance& acceptance : acceptances) {
    acceptance.who = options.who.value_or(who_am_i());
    acceptance.when = utc_date();
    acceptance.reason = options.reason;
    history->add_acceptance(acceptance);
    print_message(stderr, "accepted: {} {} from {} on, by {}\n", acceptance.case_name,
                  acceptance.metric.empty() ? "(every metric)" : acceptance.metric, acceptance.from_run,
                  acceptance.who);
  }
}

void add_accept_command(CLI::App& trends) {
  const auto options = std::make_shared<AcceptOptions>();
  CLI::App* const command =
      trends.add_subcommand("accept", "Record a change as intended: it is no regression");
  command->add_option("CASE", options->case_name, "Name of the case, as `peakmark trends` prints it")
      ->required();
  command->add_option("--reason", options->reason, "Why it is intended")->required();
  command->add_option("--metric", options->metric, "Only this metric of the case; default: every open one")
      ->type_name("{requested_peak_bytes,setup_bytes,leaked_bytes,gpu_time_ns,estimate_ratio}");
  command->add_option("--from", options->from, "Run id: the level from this run on, found or not");
  command->add_option(
      "--who", options->who,
      "Who accepts, shown in reports; default: the account that runs the job of GitHub or GitLab");
  add_history_option(*command, options->history);
  command->footer("Exit code: 0 accepted, 2 there is no such case, run or open change.");
  command->callback([options] { accept(*options); });
}

}  // namespace

void add_trends_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<TrendsOptions>();
  CLI::App* const command =
      app.add_subcommand("trends", "What changed over the runs of a history: bytes, times, estimates");
  command->require_subcommand(0, 1);
  add_accept_command(*command);
  add_history_option(*command, options->history);
  command->add_flag("--json", options->json, "Print all of it as JSON instead of tables");
  command->add_option("--markdown", options->markdown, "Write a summary in markdown")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  command->footer(
      "Bytes change on the night they change. Times change when a second measurement of the night (`run "
      "--confirm`),\n"
      "or the next night, says so too; until then they are suspicious.\n"
      "Exit code: 0 clean, also without a baseline, 1 a confirmed regression is open: neither accepted nor "
      "undone,\n"
      "2 wrong usage, or the history cannot be read.");
  command->callback([options, command, &result] {
    if (command->get_subcommands().empty()) result.code = show_trends(*options);
  });
}

}  // namespace peakmark::cli
