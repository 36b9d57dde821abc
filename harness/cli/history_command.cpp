#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iomanip>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "base/text_table.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/history_option.hpp"
#include "cli/output_file.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "history/exports.hpp"
#include "history/history.hpp"
#include "runfile/json_fields.hpp"
#include "trend/pruning.hpp"

namespace peakmark::cli {
namespace {

using history::History;
using json_fields::Json;
using json_fields::pretty;

// add

struct AddOptions {
  std::string history;
  std::vector<std::filesystem::path> runs;
  bool json = false;
};

history::Added add_file(History& history, const std::filesystem::path& path, const Run& run) {
  try {
    return history.add(run);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

void add(const AddOptions& options) {
  std::vector<Run> runs;
  for (const auto& path : options.runs) runs.push_back(read_run(path));
  const auto history = open_history(options.history, History::Purpose::write);
  Json list = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunContext& context = runs[i].context;
    const history::Added added = add_file(*history, options.runs[i], runs[i]);
    print_message(stderr, "{}: {} {}, {}: run {} of '{}' ({}){}\n", options.runs[i].string(), context.id,
                  added.was_there ? "was there already, nothing changed" : "added",
                  quantity(runs[i].observations.size(), "case"), added.runs_of_device,
                  plain_text(context.device), context.backend,
                  added.runs_of_device == 1 ? "; no baseline yet" : "");
    for (const std::string& note : added.notes) print_message(stderr, "note: {}\n", plain_text(note));
    list.push_back({{"file", options.runs[i].string()},
                    {"run", context.id},
                    {"was_there", added.was_there},
                    {"runs_of_device", added.runs_of_device},
                    {"notes", added.notes}});
  }
  if (options.json) print_text(pretty({{"history", history->address().name()}, {"runs", list}}));
}

void add_add_command(CLI::App& app) {
  const auto options = std::make_shared<AddOptions>();
  CLI::App* const command = app.add_subcommand("add", "Add runs; one that is there already changes nothing");
  command->add_option("RUN", options->runs, "Run files, complete")->required();
  add_history_option(*command, options->history);
  command->add_flag("--json", options->json, "Print what was added as JSON");
  command->footer(
      "Refused, whole: a run cut short, a shard (merge first), another run with the id of one that is "
      "there.\n"
      "Exit code: 0 clean, 2 a run file or the history cannot be read, written or taken.");
  command->callback([options] { add(*options); });
}

// create

void add_create_command(CLI::App& app) {
  const auto history = std::make_shared<std::string>();
  CLI::App* const command =
      app.add_subcommand("create", "Create an empty history; one that exists is not changed");
  add_history_option(*command, *history);
  command->footer("Exit code: 0 clean, 2 the history cannot be created or read.");
  command->callback([history] { open_history(*history, History::Purpose::write); });
}

// log

struct LogOptions {
  std::string history;
  std::size_t most = 20;
  bool all = false;
  bool json = false;
};

std::string log_table(const std::vector<history::LoggedRun>& runs) {
  using Align = TextTable::Align;
  TextTable table({{"date"},
                   {"run"},
                   {"commit"},
                   {"suite"},
                   {"device"},
                   {"backend"},
                   {"driver"},
                   {"build"},
                   {"cases", Align::right},
                   {"ok", Align::right}});
  const auto dash = [](const std::string& text) { return text.empty() ? "–" : plain_text(text); };
  for (const history::LoggedRun& run : runs) {
    table.add({run.date, run.id, dash(short_commit(run.commit)), dash(run.suite), dash(run.device),
               dash(run.backend), dash(run.driver), dash(run.build), std::to_string(run.cases),
               std::to_string(run.ok)});
  }
  return table.text();
}

void log(const LogOptions& options) {
  const auto history = open_history(options.history, History::Purpose::read);
  std::vector<history::LoggedRun> runs = history->log();
  const std::size_t count = runs.size();
  std::ranges::reverse(runs);
  if (!options.all && runs.size() > options.most) runs.resize(options.most);
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
  CLI::App* const command = app.add_subcommand("log", "List runs, the newest first");
  add_history_option(*command, options->history);
  command->add_option("-n", options->most, "How many")->capture_default_str();
  command->add_flag("--all", options->all, "All of them");
  command->add_flag("--json", options->json, "Print the list as JSON");
  command->footer("Exit code: 0 clean, 2 the history cannot be read.");
  command->callback([options] { log(*options); });
}

// export

struct ExportOptions {
  std::string history;
  std::string format = "csv";
  std::string run = "latest";
  std::string device;
  history::ExportChoice choice;
  std::string output;
  std::string otava;
};

std::string run_files(History& history, const ExportOptions& options) {
  std::string text;
  const auto ids = options.run == "latest" ? history.latest() : std::vector<std::string>{options.run};
  std::map<std::string, std::string> devices;  // a run's, as it is called now
  for (const history::LoggedRun& run : history.log()) devices.emplace(run.id, run.device);
  for (const std::string& id : ids) {
    const Run run = history.run(id);
    if (options.device.empty() || devices.at(id) == options.device) text += run_file_text(run, -1) + "\n";
  }
  return text;
}

std::vector<trend::DeviceHistory> chosen_devices(History& history, const ExportOptions& options) {
  std::vector<trend::DeviceHistory> devices;
  std::string known;
  for (trend::DeviceHistory& device : history.read()) {
    known += fmt::format("{}'{}' ({})", known.empty() ? "" : ", ", device.device, device.backend);
    if (!options.device.empty() && device.device != options.device) continue;
    devices.push_back(peakmark::history::chosen(std::move(device), options.choice));
  }
  if (devices.empty() && !known.empty()) {
    throw UsageError(fmt::format("--device '{}': not in this history, which has {}", options.device, known));
  }
  if (options.format == "csv" && devices.size() > 1) {
    throw UsageError(fmt::format(
        "a CSV holds the series of one device; choose it with --device: this history has {}", known));
  }
  return devices;
}

std::string exported(History& opened, const ExportOptions& options) {
  if (options.format == "run") return run_files(opened, options);
  const std::vector<trend::DeviceHistory> devices = chosen_devices(opened, options);
  if (options.format == "jsonl") return history::series_json_lines(devices);
  if (options.format == "series") return history::series_for_reports(devices, opened.cases());
  if (devices.empty()) return "";
  if (!options.otava.empty()) {
    replace_text_file(options.otava, history::otava_configuration(devices.front(), options.output));
  }
  return history::series_csv(devices.front());
}

void export_history(ExportOptions options) {
  if (!options.otava.empty() && (options.output.empty() || options.format != "csv")) {
    throw UsageError("--otava tells Otava of a CSV file: name it with -o");
  }
  remove_earlier_outputs({options.output, options.otava}, {options.history});
  const auto history = open_history(options.history, History::Purpose::read);
  if (!options.device.empty()) options.device = history->device_name(options.device);
  const std::string text = exported(*history, options);
  if (options.output.empty()) {
    print_text(text);
  } else {
    replace_text_file(options.output, text);
  }
}

void add_export_command(CLI::App& app) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* const command = app.add_subcommand("export", "Write series or runs for other programs");
  add_history_option(*command, options->history);
  command
      ->add_option("--format", options->format,
                   "csv: a line a run, a column a case and metric, of one device; jsonl: a line a case of a "
                   "run; series: for reports; run: run files, one a line")
      ->check(CLI::IsMember({"csv", "jsonl", "series", "run"}))
      ->capture_default_str();
  command
      ->add_option("--run", options->run,
                   "Of --format run: an id, or latest: the newest of each suite on each device")
      ->capture_default_str();
  command->add_option("--device", options->device, "Of this device only")->type_name(value_name::kDevice);
  command
      ->add_option("--filter", options->choice.filter, "Only cases whose name this regular expression finds")
      ->type_name(value_name::kRegex);
  command->add_option("--metric", options->choice.metrics, "Only these of each case")
      ->type_name("{requested_peak_bytes,setup_bytes,leaked_bytes,gpu_time_ns,estimate_ratio}");
  command->add_flag("--without-gaps", options->choice.without_gaps,
                    "Only series that have a value for every run, as some programs want them");
  command->add_option("-o,--output", options->output, "File to write; else standard output")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  command->add_option("--otava", options->otava, "Of csv with -o: write a configuration for Apache Otava too")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  command->footer("Exit code: 0 clean, 2 wrong usage, or the history cannot be read.");
  command->callback([options] { export_history(*options); });
}

// prune

struct PruneOptions {
  std::string history;
  std::optional<int> days;
  std::string before;
  bool dry = false;
};

std::string limit_of(const PruneOptions& options) {
  if (options.days) return utc_date(std::chrono::system_clock::now() - std::chrono::days(*options.days));
  std::tm read{};
  std::istringstream text(options.before);
  if (!(text >> std::get_time(&read, "%Y-%m-%d")) || options.before.size() != 10) {
    throw UsageError(fmt::format("--before '{}': write a day such as 2026-01-31", options.before));
  }
  return options.before + "T00:00:00Z";
}

void prune(const PruneOptions& options) {
  if (options.days.has_value() != options.before.empty()) {
    throw UsageError("how old? Say it with --older-than DAYS or with --before DATE");
  }
  const std::string limit = limit_of(options);
  const auto history = open_history(options.history, History::Purpose::change);
  const history::Pruned pruned = history->prune(
      limit, [&](const trend::DeviceHistory& device) { return trend::runs_to_keep(device, limit); },
      options.dry);
  for (const std::string& run : pruned.runs) print_text(run + "\n");
  print_message(stderr, "{}: {} {} from before {}; {} {} that verdicts need\n", history->address().name(),
                options.dry ? "would drop" : "dropped", quantity(pruned.runs.size(), "run"), limit,
                options.dry ? "would keep" : "kept", quantity(pruned.kept, "older run"));
}

void add_prune_command(CLI::App& app) {
  const auto options = std::make_shared<PruneOptions>();
  CLI::App* const command = app.add_subcommand("prune", "Drop old runs that no verdict needs");
  add_history_option(*command, options->history);
  command->add_option("--older-than", options->days, "Days")->check(CLI::Range(0, 100'000));
  command->add_option("--before", options->before, "A day, such as 2026-01-31 (UTC)");
  command->add_flag("--dry-run", options->dry, "Only list what would go");
  command->footer(
      "Keeps what verdicts need: the newest run of each suite, the newest 120 times of each case, the runs "
      "at which "
      "bytes,\n"
      "outcome or estimate changed or a change was accepted, each with the run before it, and for an open "
      "regression\n"
      "of times the 120 runs before it and all since. Prints the ids of the runs that go.\n"
      "Exit code: 0 clean, 2 wrong usage, or the history cannot be read or written.");
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
      app.add_subcommand("rename-device", "Say that a device is one that had another name before");
  command->add_option("DEVICE", options->device, "The name that runs have now")->required();
  command->add_option("KNOWN", options->known, "The name under which its series go on")->required();
  add_history_option(*command, options->history);
  command->footer("Exit code: 0 clean, 2 wrong usage, or the history cannot be read or written.");
  command->callback([options] {
    open_history(options->history, History::Purpose::change)->rename_device(options->device, options->known);
  });
}

}  // namespace

void add_history_command(CLI::App& app, Result& /*result*/) {
  CLI::App* const command = app.add_subcommand("history", "Runs over time: create, add, log, export, prune");
  command->require_subcommand(1);
  add_create_command(*command);
  add_add_command(*command);
  add_log_command(*command);
  add_export_command(*command);
  add_prune_command(*command);
  add_rename_command(*command);
  command->footer("Exit code: 0 clean, 2 wrong usage, or a run or the history cannot be read or written.");
}

}  // namespace peakmark::cli
