#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "base/size.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/runfile/run_summary.hpp"
#include "measure/runfile/throughput.hpp"
#include "measure/supervise/progress.hpp"
#include "record/show/process_tree.hpp"
#include "record/show/profile_reports.hpp"

namespace peakmark::cli {
namespace {

struct ShowOptions {
  std::vector<std::filesystem::path> files;
  bool json = false;
  bool events = false;
  std::optional<std::filesystem::path> trace;
  TraceOptions trace_options;
  std::optional<std::filesystem::path> page;
  std::string by = "name";
  ReportOptions report;
};

/// Throws UsageError if `path` is a profile of the tree: it is mapped while it is shown, and must not change.
void check_is_no_source(const std::filesystem::path& path, const RecordedTree& tree) {
  std::error_code error;
  for (const RecordedProcess& process : tree.processes) {
    if (std::filesystem::equivalent(path, process.path, error)) {
      throw UsageError(
          fmt::format("{}: is the profile to be shown; name another file to write", path.string()));
    }
  }
}

void show_profile(const std::filesystem::path& path, const ShowOptions& options) {
  const RecordedTree tree = read_tree(path);
  if (options.trace) {
    check_is_no_source(*options.trace, tree);
    TraceSummary trace;
    write_output_file(*options.trace,
                      [&](std::ostream& out) { trace = write_trace(tree, options.trace_options, out); });
    if (trace.thinned) {
      std::cerr << fmt::format(
          "{}: {} of {} allocations have a span: the largest, and those live at the peak. Live bytes are "
          "thinned, the peak is exact; write all with --full\n",
          options.trace->string(), trace.spans, trace.allocations);
    }
  }
  if (options.page) {
    check_is_no_source(*options.page, tree);
    write_output_file(*options.page, [&](std::ostream& out) { write_page(tree, options.report, out); });
  }
  if (options.events) {
    write_events(tree, std::cout);
  } else if (options.json) {
    print_text(json_fields::pretty(profile_json(tree, options.report)));
  } else {
    print_text(profile_table(tree, options.report));
  }
}

/// Returns `  time 12.3 us cold, 10.1 us hot  98.7 GB/s, 0.97 of the copy, 0.85 of the peak bandwidth`.
std::string time_line(const Observation& observation, const RunContext& context) {
  if (!observation.gpu_time) return "";
  std::string line = "  time " + time_text(observation);
  if (observation.gpu_time_hot) {
    line += fmt::format(", {} hot", format_duration(observation.gpu_time_hot->median_ns));
  }
  const Throughput throughput = throughput_of(observation, context);
  if (throughput.bytes_per_second)
    line += fmt::format("  {} GB/s", gigabytes_text(throughput.bytes_per_second));
  if (throughput.share_of_copy) line += fmt::format(", {} of the copy", share_text(throughput.share_of_copy));
  if (throughput.share_of_peak) {
    line += fmt::format(", {} of the peak bandwidth", share_text(throughput.share_of_peak));
  }
  if (throughput.flops_per_second) {
    line += fmt::format(", {:.4g} GFLOP/s", *throughput.flops_per_second * 1e-9);
  }
  if (observation.throttled_blocks.value_or(0) > 0) {
    line += fmt::format(", {} throttled blocks", *observation.throttled_blocks);
  }
  return line + "\n";
}

/// Returns `  metrics: halo 2, iterations 12`.
std::string metrics_line(const Observation& observation) {
  std::string text;
  for (const auto& [name, value] : observation.metrics)
    text += fmt::format("{}{} {:.4g}", text.empty() ? "  metrics: " : ", ", name, value);
  return text.empty() ? text : text + "\n";
}

/// Returns a row for each name and kind; count and largest allocation only if a row has several allocations.
std::string peak_table(const std::vector<PeakGroup>& groups) {
  if (groups.empty()) return "";
  Fields<PeakGroup> fields{{"at the peak", As::text, &PeakGroup::name, "", "(unnamed)"},
                           {"kind", As::text, &PeakGroup::kind},
                           {"count", As::number, &PeakGroup::count},
                           {"largest", As::size, &PeakGroup::largest_bytes},
                           {"bytes", As::number, &PeakGroup::bytes},
                           {"", As::size, &PeakGroup::bytes}};
  const bool has_several = std::ranges::any_of(groups, [](const PeakGroup& one) { return one.count > 1; });
  if (!has_several) fields.erase(fields.begin() + 2, fields.begin() + 4);
  return rows_text(fields, groups, groups.size(), "  ");
}

/// Prints the allocations that were live at the peak of each case.
void show_run(const std::filesystem::path& path) {
  std::string text;
  const Run run = read_run(path);
  const auto planned = planned_by_name(run.context);
  for (const Observation& observation : run.observations) {
    const auto& peak = observation.requested_peak_bytes;
    const auto found = planned.find(observation.case_name);
    const CaseEnd end = end_of(found == planned.end() ? PlannedCase{} : *found->second, observation);
    text += fmt::format("{}  {}{}\n", one_line(observation.case_name), text_of(end, observation.outcome),
                        peak                      ? "  peak " + format_size(*peak)
                        : end == CaseEnd::skipped ? ""
                                                  : "  peak unknown");
    if (!observation.message.empty()) text += "  " + plain_text(observation.message) + "\n";
    text += time_line(observation, run.context) + metrics_line(observation);
    text += peak_table(group_peak(observation.at_peak));
    if (observation.leaked_bytes.value_or(0) != 0) {
      text += fmt::format("  never released: {}\n", format_size(*observation.leaked_bytes));
    }
  }
  print_text(text);
}

/// Returns whether a profile is at `path`. It may be one of the shown profiles, which show_profile() refuses
/// to replace.
bool is_profile(const std::filesystem::path& path) {
  try {
    return std::filesystem::exists(path) && contents(path) == FileContents::profile;
  } catch (const UsageError&) {
    return false;
  } catch (const IoError&) {
    return false;
  }
}

void show(const ShowOptions& options) {
  if ((options.trace || options.page) && options.files.size() > 1) {
    throw UsageError("--trace and --html write one file; name one profile");
  }
  for (const auto& output : {options.trace, options.page}) {
    if (output && !is_profile(*output)) remove_earlier_outputs({*output}, options.files);
  }
  for (const std::filesystem::path& path : options.files) {
    if (contents(path) == FileContents::profile) {
      show_profile(path, options);
    } else {
      show_run(path);
    }
  }
}

}  // namespace

void add_show_command(CLI::App& app, Result& /*result*/) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command =
      app.add_subcommand("show", "Show the peak, what was live at it, and leaks of a profile or run");
  command->add_option("FILE", options->files, "Profiles or run files")->required();
  const auto of_profiles = [options](CLI::Option* option) {
    return only_when(option->group("Only with profiles"), "with profiles", [options] {
      return std::ranges::all_of(options->files, [](const std::filesystem::path& file) {
        return contents(file) == FileContents::profile;
      });
    });
  };
  const auto count = [command](const char* name) { return command->count(name) > 0; };
  auto* json = of_profiles(command->add_flag("--json", options->json, "Print the summary as JSON"));
  of_profiles(command->add_flag("--events", options->events, "Print every event, one per line"))
      ->excludes(json);
  only_when(of_profiles(command->add_option("--by", options->by,
                                            "Sum the table by name, or by the call site of --stacks")),
            "without --json and --events", [count] { return !count("--json") && !count("--events"); })
      ->check(CLI::IsMember({"name", "site"}))
      ->capture_default_str();
  only_when(of_profiles(add_frames_option(*command, options->report.frames)),
            "without --events, or with --html", [count] { return !count("--events") || count("--html"); });
  auto* trace = of_profiles(
      add_file_option(*command, "--trace", options->trace, "Write a timeline for ui.perfetto.dev"));
  of_profiles(command->add_flag("--full", options->trace_options.full, "Write every event into the trace"))
      ->needs(trace);
  of_profiles(add_file_option(*command, "--html", options->page, "Write a self-contained web page"));
  set_help(*command, {.exit_codes = {{"0", "clean"},
                                     {"2", "wrong usage, or a file cannot be read or written"},
                                     {"5", "a profile has no readable events"}}});
  command->callback([options] {
    options->report.by_site = options->by == "site";
    if (is_terminal(stdout)) options->report.max_width = terminal_width(stdout);
    show(*options);
  });
}

}  // namespace peakmark::cli
