#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <iomanip>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/date.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "base/text_table.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/history_commands.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"
#include "history/exports.hpp"
#include "history/history.hpp"
#include "runfile/json_fields.hpp"
#include "trend/pruning.hpp"

namespace peakmark::cli {
namespace {

using history::History;
using json_fields::Json;
using json_fields::pretty;

// log

struct LogOptions {
  std::string history;
  std::size_t max = 20;
  std::string branch;
  bool all = false;
  bool json = false;
};

std::string log_table(const std::vector<history::LoggedRun>& runs) {
  using Align = TextTable::Align;
  TextTable table({{"date"},
                   {"run"},
                   {"commit"},
                   {"branch"},
                   {"suite"},
                   {"device"},
                   {"backend"},
                   {"driver"},
                   {"build"},
                   {"cases", Align::right},
                   {"ok", Align::right}});
  const auto dash = [](const std::string& text) { return text.empty() ? "–" : plain_text(text); };
  for (const history::LoggedRun& run : runs) {
    table.add({run.date, run.id, dash(short_commit(run.commit)), dash(run.branch), dash(run.suite),
               dash(run.device), dash(run.backend), dash(run.driver), dash(run.build),
               std::to_string(run.cases), std::to_string(run.ok)});
  }
  return table.text();
}

void log(const LogOptions& options) {
  const auto history = open_history(options.history, History::Purpose::read);
  std::vector<history::LoggedRun> runs = history->log();
  if (!options.branch.empty())
    std::erase_if(runs, [&](const history::LoggedRun& run) { return run.branch != options.branch; });
  const std::size_t count = runs.size();
  std::ranges::reverse(runs);
  if (!options.all && runs.size() > options.max) runs.resize(options.max);
  if (!options.json) {
    print_text(log_table(runs) +
               fmt::format("\n{}{}\n", quantity(count, "run"),
                           runs.size() < count ? fmt::format(", {} shown", runs.size()) : ""));
    return;
  }
  Json list = Json::array();
  for (const history::LoggedRun& run : runs) {
    list.push_back({{"run", run.id},
                    {"date", run.date},
                    {"suite", run.suite},
                    {"commit", run.commit},
                    {"branch", run.branch},
                    {"device", run.device},
                    {"backend", run.backend},
                    {"driver", run.driver},
                    {"build", run.build},
                    {"host_name", run.host_name},
                    {"cases", run.cases},
                    {"ok", run.ok}});
  }
  print_text(pretty({{"history", history->address().name()}, {"count", count}, {"runs", list}}));
}

void add_log_command(CLI::App& app) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App* const command = app.add_subcommand("log", "List runs, newest first");
  add_history_option(*command, options->history);
  command->add_option("-n", options->max, "List at most this many runs")
      ->type_name("INT")
      ->capture_default_str();
  command->add_option("--branch", options->branch, "List runs of this branch only")
      ->type_name(value_name::kBranch);
  command->add_flag("--all", options->all, "List all runs");
  command->add_flag("--json", options->json, "Print the list as JSON");
  set_help(*command, {.exit_codes = {{"0", "clean"}, {"2", "the history cannot be read"}}});
  command->callback([options] { log(*options); });
}

// export

struct ExportOptions {
  std::string history;
  std::string format = "csv";
  std::string run = "latest";
  std::string device;
  std::string branch;
  history::ExportChoice choice;
  std::string output;
  std::string otava;
};

std::string run_files(History& history, const ExportOptions& options) {
  std::string text;
  const auto ids = options.run == "latest" ? history.latest() : std::vector<std::string>{options.run};
  std::map<std::string, std::string> devices;  // current device name of each run
  for (const history::LoggedRun& run : history.log()) devices.emplace(run.id, run.device);
  for (const std::string& id : ids) {
    const Run run = history.run(id);
    if (options.device.empty() || devices.at(id) == options.device) text += run_file_text(run, -1) + "\n";
  }
  return text;
}

std::string device_names(const std::vector<history::DeviceBackend>& devices) {
  std::string names;
  for (const history::DeviceBackend& one : devices)
    names += fmt::format("{}'{}' ({})", names.empty() ? "" : ", ", one.device, one.backend);
  return names;
}

/// Reads one device after the other, and calls `take` for each that has chosen runs.
void each_chosen_device(History& history, const ExportOptions& options,
                        const std::function<void(trend::DeviceHistory)>& take) {
  const std::vector<history::DeviceBackend> known = history.devices(options.branch);
  std::vector<history::DeviceBackend> devices = known;
  if (!options.device.empty())
    std::erase_if(devices, [&](const history::DeviceBackend& one) { return one.device != options.device; });
  if (devices.empty() && !known.empty()) {
    throw UsageError(
        fmt::format("--device '{}': not in this history; it has {}", options.device, device_names(known)));
  }
  for (const history::DeviceBackend& one : devices) {
    trend::DeviceHistory device =
        peakmark::history::chosen(history.read_device(one, options.branch, options.choice), options.choice);
    if (!device.runs.empty()) take(std::move(device));
  }
}

std::vector<trend::DeviceHistory> chosen_devices(History& history, const ExportOptions& options) {
  std::vector<trend::DeviceHistory> devices;
  each_chosen_device(history, options,
                     [&](trend::DeviceHistory device) { devices.push_back(std::move(device)); });
  if (options.format == "csv" && devices.size() > 1) {
    throw UsageError(fmt::format("a CSV file has the series of one device: choose one of {} with --device",
                                 device_names(history.devices(options.branch))));
  }
  return devices;
}

std::string bencher(History& opened, const std::vector<trend::DeviceHistory>& devices,
                    const std::string& run) {
  const bool is_there =
      run == "latest" || std::ranges::any_of(devices, [&](const trend::DeviceHistory& device) {
        return trend::find_run(device, run).has_value();
      });
  if (is_there) return history::bencher_metrics(devices, run);
  throw UsageError(fmt::format("{}: --run '{}': not among the chosen runs; `peakmark history log` lists runs",
                               opened.address().name(), run));
}

/// Returns the text of a format that needs all devices at once.
std::string exported(History& opened, const ExportOptions& options) {
  if (options.format == "run") return run_files(opened, options);
  const std::vector<trend::DeviceHistory> devices = chosen_devices(opened, options);
  if (options.format == "bencher") return bencher(opened, devices, options.run);
  if (devices.empty()) return "";
  if (!options.otava.empty()) {
    replace_text_file(options.otava, history::otava_configuration(devices.front(), options.output));
  }
  return history::series_csv(devices.front());
}

void write_export(History& opened, const ExportOptions& options, const TextSink& sink) {
  if (options.format == "series") {
    const std::vector<history::KnownCase> cases = opened.cases();
    each_chosen_device(opened, options, [&](const trend::DeviceHistory& device) {
      history::write_series_for_reports(device, cases, sink);
    });
  } else if (options.format == "jsonl" || options.format == "parquet") {
    each_chosen_device(opened, options,
                       [&](const trend::DeviceHistory& device) { history::write_json_lines(device, sink); });
  } else {
    sink(exported(opened, options));
  }
}

void check_export(const ExportOptions& options) {
  if (!options.otava.empty() && (options.output.empty() || options.format != "csv")) {
    throw UsageError("--otava describes a CSV file: name it with -o");
  }
  if (options.format == "parquet" && options.output.empty()) {
    throw UsageError("a Parquet file is not a text: name it with -o");
  }
  const bool is_of_runs = options.format == "run";
  const bool has_limits = !options.choice.since.empty() || options.choice.max_runs != 0;
  if (is_of_runs && (!options.branch.empty() || has_limits)) {
    throw UsageError("--format run exports whole runs: choose them with --run and --device");
  }
}

void export_history(ExportOptions options) {
  check_export(options);
  options.choice.with_base = options.format == "series";
  remove_earlier_outputs({options.output, options.otava}, {options.history});
  auto history = open_history(options.history, History::Purpose::read);
  if (!options.device.empty()) options.device = history->device_name(options.device);
  const auto write = [&](const TextSink& sink) { write_export(*history, options, sink); };
  if (options.format == "parquet") {
    std::string text;
    write([&](std::string_view part) { text += part; });
    history.reset();
    if (text.empty()) text = "\n";  // Python reads standard input in any case
    become_python_reports({"parquet", "--output=" + options.output}, "", text);
  }
  if (options.output.empty()) {
    write(print_text);
  } else {
    replace_text_file(options.output, write);
  }
}

void add_export_command(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* const command = app.add_subcommand("export", "Export series or runs for other programs");
  add_history_option(*command, options->history);
  command
      ->add_option(
          "--format", options->format,
          "csv: of one device, a row for each run and a column for each case and metric; jsonl: a line "
          "for each case of a run; parquet: a row for each of these lines; bencher: Bencher Metric Format of "
          "one run; series: for reports; run: a run file in each line")
      ->check(CLI::IsMember({"csv", "jsonl", "parquet", "bencher", "series", "run"}))
      ->capture_default_str();
  command
      ->add_option(
          "--run", options->run,
          "With --format run or bencher, export this run id; latest: the newest run of each suite and "
          "device, for bencher of each case")
      ->type_name("ID")
      ->capture_default_str();
  command->add_option("--device", options->device, "Export only this device")->type_name(value_name::kDevice);
  command
      ->add_option(
          "--branch", options->branch,
          "Export the newest run of each suite of this branch; `series` also has the runs that they are "
          "compared with. Default: the runs of the base branch")
      ->type_name(value_name::kBranch)
      ->check(kNotEmpty);
  add_parsed_option(
      *command, "--since",
      [options](const std::string& text) {
        const auto date = parse_date(text);
        if (!date) throw UsageError(fmt::format("'{}' is not a date such as 2026-01-31", text));
        options->choice.since = utc_date(date->moment);
      },
      "Export only runs from this day or time on (UTC), such as 2026-01-31")
      ->type_name("DATE");
  command
      ->add_option("--max-runs", options->choice.max_runs,
                   "Export at most this many runs of each suite on a device: the newest half of this number, "
                   "and one in 2, 4, 8, … of the runs before them")
      ->type_name("INT")
      ->check(CLI::Range(2, 1'000'000));
  command
      ->add_option("--filter", options->choice.filter,
                   "Select cases whose name matches this regular expression")
      ->type_name(value_name::kRegex);
  command->add_option("--metric", options->choice.metrics, "Export only these metrics")
      ->type_name(value_name::kMetric);
  command->add_flag("--without-gaps", options->choice.without_gaps,
                    "Export only series with a value for every run");
  add_file_option(*command, "-o,--output", options->output, "Write this file. Default: standard output");
  add_file_option(*command, "--otava", options->otava,
                  "With csv and -o, also write a configuration for Apache Otava");
  set_help(*command,
           {.notes = {"Parquet needs Python 3.11 or later with pandas and pyarrow. Uses python3, or "
                      "$PEAKMARK_PYTHON."},
            .exit_codes = {{"0", "clean"}, {"2", "wrong usage, or the history cannot be read"}}});
  command->callback([options] { export_history(*options); });
}

// prune

struct PruneOptions {
  std::string history;
  std::optional<int> days;
  std::string before;
  bool branches = false;
  std::string branch;
  bool dry = false;
};

std::string limit_of(const PruneOptions& options) {
  if (options.days) return utc_date(std::chrono::system_clock::now() - std::chrono::days(*options.days));
  std::tm read{};
  std::istringstream text(options.before);
  if (!(text >> std::get_time(&read, "%Y-%m-%d")) || options.before.size() != 10) {
    throw UsageError(
        fmt::format("--before '{}': not a date; write a day such as 2026-01-31", options.before));
  }
  return options.before + "T00:00:00Z";
}

history::PruneChoice prune_choice(const PruneOptions& options) {
  if (!options.branch.empty()) {
    if (options.days || !options.before.empty() || options.branches)
      throw UsageError(
          "--branch removes all runs of a branch; it takes no --older-than, --before or --branches");
    return {.branch = options.branch, .dry = options.dry};
  }
  if (options.days.has_value() != options.before.empty()) {
    throw UsageError("no age: write --older-than DAYS or --before DATE");
  }
  return {.date = limit_of(options), .branches_only = options.branches, .branch = {}, .dry = options.dry};
}

void prune(const PruneOptions& options) {
  const history::PruneChoice choice = prune_choice(options);
  const auto history = open_history(options.history, History::Purpose::change);
  const history::Pruned pruned = history->prune(
      choice, [&](const trend::DeviceHistory& device) { return trend::runs_to_keep(device, choice.date); });
  for (const std::string& run : pruned.runs) print_text(run + "\n");
  print_message(stderr, "{}: {} {} {}; {} {} that verdicts need\n", history->address().name(),
                options.dry ? "would remove" : "removed", quantity(pruned.runs.size(), "run"),
                choice.branch.empty() ? "from before " + choice.date : "of branch '" + choice.branch + "'",
                options.dry ? "would keep" : "kept", quantity(pruned.kept, "older run"));
}

void add_prune_command(CLI::App& app) {
  const auto options = std::make_shared<PruneOptions>();
  CLI::App* const command =
      app.add_subcommand("prune", "Remove old runs that no verdict needs, and runs of branches");
  add_history_option(*command, options->history);
  command->add_option("--older-than", options->days, "Remove runs older than this many days")
      ->type_name("DAYS")
      ->check(CLI::Range(0, 100'000));
  command->add_option("--before", options->before, "Remove runs before this day (UTC), such as 2026-01-31")
      ->type_name("DATE");
  command->add_flag("--branches", options->branches,
                    "Remove only runs of branches and pull requests, none of the base branch");
  command->add_option("--branch", options->branch, "Remove all runs of this branch, such as pull/12")
      ->type_name(value_name::kBranch);
  command->add_flag("--dry-run", options->dry, "List the runs, and remove nothing");
  set_help(
      *command,
      {.notes =
           {"Prints the ids of the removed runs. Keeps what verdicts need: the newest run of each suite; "
            "the newest 120 times of each case; the runs at which bytes, outcome or estimate changed or "
            "a change was accepted, with the run before each; and for an open regression of times, the "
            "120 runs before it and all runs since.",
            "Of branches other than the base branch, every run of that age is removed."},
       .exit_codes = {{"0", "clean"}, {"2", "wrong usage, or the history cannot be read or written"}}});
  command->callback([options] { prune(*options); });
}

// rename-device

struct RenameOptions {
  std::string history;
  std::string device;
  std::string known;
};

void add_rename_command(CLI::App& app) {
  const auto options = std::make_shared<RenameOptions>();
  CLI::App* const command =
      app.add_subcommand("rename-device", "Continue the series of a device under its earlier name");
  command->add_option("DEVICE", options->device, "The present name in runs")->required();
  command->add_option("KNOWN", options->known, "The name under which its series continue")->required();
  add_history_option(*command, options->history);
  set_help(*command,
           {.exit_codes = {{"0", "clean"}, {"2", "wrong usage, or the history cannot be read or written"}}});
  command->callback([options] {
    open_history(options->history, History::Purpose::change)->rename_device(options->device, options->known);
  });
}

}  // namespace

void add_history_command(CLI::App& app, Result& /*result*/) {
  CLI::App* const command = app.add_subcommand("history", "Keep runs over time");
  command->require_subcommand(1);
  add_create_command(*command);
  add_add_command(*command);
  add_import_command(*command);
  add_set_command(*command);
  add_log_command(*command);
  add_export_command(*command);
  add_prune_command(*command);
  add_rename_command(*command);
  set_help(*command,
           {.exit_codes = {{"0", "clean"},
                           {"2", "wrong usage, or a run or the history cannot be read or written"}}});
}

}  // namespace peakmark::cli
