#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyse/history/exports.hpp"
#include "analyse/history/history.hpp"
#include "base/text.hpp"
#include "base/text_file.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/history_commands.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"

namespace peakmark::cli {
namespace {

using history::History;

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

/// Reads one device after the other, and calls `take` for each that has chosen runs.
void each_chosen_device(History& history, const ExportOptions& options,
                        const std::function<void(trend::DeviceHistory)>& take) {
  for (const history::DeviceBackend& one : devices_named(history, options.branch, options.device)) {
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
    write_output_file(options.otava, history::otava_configuration(devices.front(), options.output));
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
  if (options.format == "parquet" && options.output.empty()) {
    throw UsageError("Parquet is binary and is not printed: name a file with -o");
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
    if (text.empty()) text = "\n";  // empty input would not replace standard input, which Python reads
    become_python_reports({"parquet", "--output=" + options.output}, "", text);
  }
  if (options.output.empty()) {
    write(print_text);
  } else {
    write_output_file(options.output,
                      [&](std::ostream& out) { write([&](std::string_view part) { out << part; }); });
  }
}

}  // namespace

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
  const auto of_series = [options](CLI::Option* option) {
    return only_when(option, "without --format run", [options] { return options->format != "run"; });
  };
  only_when(command->add_option("--run", options->run,
                                "Export this run id; latest: the newest run of each suite and device, for "
                                "bencher of each case"),
            "with --format run or bencher",
            [options] { return options->format == "run" || options->format == "bencher"; })
      ->type_name("ID")
      ->capture_default_str();
  command->add_option("--device", options->device, "Export only this device")->type_name(value_name::kDevice);
  of_series(command->add_option("--branch", options->branch,
                                "Export the newest run of each suite of this branch; `series` also has the "
                                "runs that they are compared with. Default: the runs of the base branch"))
      ->type_name(value_name::kBranch)
      ->check(kNotEmpty);
  of_series(add_parsed_option(
                *command, "--since",
                [options](const std::string& text) { options->choice.since = parse_date_text(text); },
                "Export only runs from this day or time on (UTC), such as 2026-01-31"))
      ->type_name("DATE");
  of_series(command->add_option("--max-runs", options->choice.max_runs,
                                "Export at most this many runs of each suite on a device: the newest half of "
                                "this number, and one in 2, 4, 8, … of the runs before them"))
      ->type_name("INT")
      ->check(CLI::Range(2, 1'000'000));
  of_series(command->add_option("--filter", options->choice.filter,
                                "Select cases whose name matches this regular expression"))
      ->type_name(value_name::kRegex);
  of_series(command->add_option("--metric", options->choice.metrics, "Export only these metrics"))
      ->type_name(value_name::kMetric);
  of_series(command->add_flag("--without-gaps", options->choice.without_gaps,
                              "Export only series with a value for every run"));
  CLI::Option* const output =
      add_file_option(*command, "-o,--output", options->output, "Write this file. Default: standard output");
  only_when(
      add_file_option(*command, "--otava", options->otava, "Also write a configuration for Apache Otava"),
      "with --format csv", [options] { return options->format == "csv"; })
      ->needs(output);
  set_help(*command,
           {.notes = {"Parquet needs Python 3.10 or later with pandas and pyarrow. Uses python3, or "
                      "$PEAKMARK_PYTHON."},
            .exit_codes = {{"0", "clean"}, {"2", "wrong usage, or the history cannot be read"}}});
  command->callback([options] { export_history(*options); });
}

}  // namespace peakmark::cli
