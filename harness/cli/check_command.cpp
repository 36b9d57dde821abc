#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "check/baseline.hpp"
#include "check/judge.hpp"
#include "check/reports.hpp"
#include "cli/allow_growth_option.hpp"
#include "cli/command.hpp"
#include "cli/file_name.hpp"
#include "cli/output_file.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "runfile/run_file.hpp"
#include "supervise/progress.hpp"

namespace peakmark::cli {
namespace {

struct CheckOptions {
  std::vector<std::filesystem::path> runs;
  std::optional<std::string> window;
  std::optional<std::filesystem::path> junit;
  std::optional<std::filesystem::path> markdown;
  std::optional<std::filesystem::path> baseline;
  std::optional<std::filesystem::path> update_baseline;
  std::optional<std::string> allow_growth;
  std::optional<std::string> window_tolerance;
  bool full_names = false;
  bool json = false;
};

/// `0.8:1.0`. A window of the command line may be any with lo ≤ hi.
Window parse_window(const std::string& text) {
  Window window;
  const char* const end = text.data() + text.size();
  const auto lo = std::from_chars(text.data(), end, window.lo);
  if (lo.ec == std::errc() && lo.ptr != end && *lo.ptr == ':') {
    const auto hi = std::from_chars(lo.ptr + 1, end, window.hi);
    if (hi.ec == std::errc() && hi.ptr == end && window.lo <= window.hi) return window;
  }
  throw UsageError(fmt::format("--window '{}': write two numbers lo:hi with lo ≤ hi, such as 0.8:1.0", text));
}

Size window_tolerance(const CheckOptions& options) {
  if (!options.window_tolerance) return 0;
  try {
    return parse_size(*options.window_tolerance);
  } catch (const Error& error) {
    throw UsageError(fmt::format("--window-tolerance: {}", error.what()));
  }
}

struct Named {
  Run run;
  std::vector<Verdict> verdicts;
};

/// The same with all axes in the names of cases, for people: JSON and JUnit keep the names.
Named with_full_names(const Run& run, const std::vector<Verdict>& verdicts) {
  Named named{run, verdicts};
  std::unordered_map<std::string, std::string> full_names;
  for (PlannedCase& planned : named.run.context.planned) {
    const std::string full_name = full_case_name(planned.sweep_case);
    full_names.emplace(std::exchange(planned.name, full_name), full_name);
  }
  const auto replace = [&](std::string& name) {
    if (const auto found = full_names.find(name); found != full_names.end()) name = found->second;
  };
  for (Observation& observation : named.run.observations) replace(observation.case_name);
  for (Verdict& verdict : named.verdicts) replace(verdict.case_name);
  return named;
}

/// Where several runs are checked, each has files of its own: `junit.xml`, `junit.2.xml`, …
std::filesystem::path numbered(const std::filesystem::path& path, std::size_t index) {
  if (index == 0) return path;
  std::filesystem::path numbered = path;
  return numbered.replace_filename(
      fmt::format("{}.{}{}", path.stem().string(), index + 1, path.extension().string()));
}

/// Of all runs: a case has one line in a baseline.
void write_baseline_of(const std::vector<Run>& runs, const std::filesystem::path& path) {
  Baseline all;
  for (const Run& run : runs) {
    for (auto& [name, sweep_case] : make_baseline(run).cases) {
      if (all.cases.emplace(name, std::move(sweep_case)).second) continue;
      throw UsageError(fmt::format("--update-baseline: two of the runs have the case {}", name));
    }
  }
  const BaselineChanges changes = write_baseline(all, path);
  std::string what;
  for (const auto& [count, word] :
       {std::pair{changes.added, "new"}, {changes.changed, "changed"}, {changes.gone, "gone"}}) {
    if (count > 0) what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count, word);
  }
  print_message(stderr, "{}: the bytes of {}, {}\n", path.string(), quantity(all.cases.size(), "case"),
                what.empty() ? "as they were" : what + "; commit it");
}

/// Of a terminal; a file or a pipe takes every column.
std::size_t table_width() {
  return is_terminal(stdout) ? terminal_width(stdout) : std::numeric_limits<std::size_t>::max();
}

void remove_earlier_reports(const CheckOptions& options) {
  std::vector<std::filesystem::path> outputs;
  for (std::size_t i = 0; i < options.runs.size(); ++i) {
    if (options.junit) outputs.push_back(numbered(*options.junit, i));
    if (options.markdown) outputs.push_back(numbered(*options.markdown, i));
  }
  std::vector<std::filesystem::path> inputs = options.runs;
  for (const auto& baseline : {options.baseline, options.update_baseline}) {
    if (baseline) inputs.push_back(*baseline);
  }
  remove_earlier_outputs(outputs, inputs);
}

ExitCode check(const CheckOptions& options) {
  JudgeOptions judge_options;
  judge_options.allowed_growth = allowed_growth(options.allow_growth);
  judge_options.window_tolerance = window_tolerance(options);
  remove_earlier_reports(options);
  if (options.baseline && options.runs.size() > 1) {
    throw UsageError("--baseline is held against one run: put shards together with `peakmark merge`");
  }
  std::optional<Baseline> baseline;
  if (options.baseline) baseline = read_baseline(*options.baseline);
  if (baseline) judge_options.baseline = &*baseline;
  std::vector<Run> runs;
  if (options.window) judge_options.window = parse_window(*options.window);
  ExitCode code = ExitCode::clean;
  for (std::size_t i = 0; i < options.runs.size(); ++i) {
    Run run = read_run(options.runs[i]);
    if (const std::string warning = later_run_warning(options.runs[i]); !warning.empty()) {
      print_message(stderr, "warning: {}\n", warning);
      run.context.warnings.push_back(warning);
    }
    const std::vector<Verdict> verdicts = judge(run, judge_options);
    const std::optional<Named> full =
        options.full_names ? std::optional(with_full_names(run, verdicts)) : std::nullopt;
    const Run& shown = full ? full->run : run;
    const std::vector<Verdict>& told = full ? full->verdicts : verdicts;
    print_text(options.json ? verdicts_json(run, verdicts, judge_options)
                            : console_table(shown, told, table_width(), judge_options));
    if (options.junit) write_output_file(numbered(*options.junit, i), junit(run, verdicts, judge_options));
    if (options.markdown)
      write_output_file(numbered(*options.markdown, i), markdown(shown, told, judge_options));
    code = worse(code, exit_code_of(run, verdicts));
    runs.push_back(std::move(run));
  }
  if (options.update_baseline) write_baseline_of(runs, *options.update_baseline);
  return code;
}

}  // namespace

void add_check_command(CLI::App& app, Result& result) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Judge runs: outcomes, estimators against the window, leaks");
  command->add_option("RUN", options->runs, "Run files")->required();
  command->add_option("--window", options->window, "LO:HI instead of the suite's window, such as 0.8:1.0")
      ->type_name(value_name::kWindow);
  command->add_option("--junit", options->junit, "Write the verdicts as JUnit XML")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  command->add_option("--markdown", options->markdown, "Write a summary in markdown")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  CLI::Option* const baseline =
      command
          ->add_option("--baseline", options->baseline,
                       "Fail what needs more bytes than there: a file of --update-baseline, or a run file")
          ->type_name(value_name::kFile)
          ->check(kFileName);
  command
      ->add_option("--update-baseline", options->update_baseline,
                   "Write the bytes of the run's cases there, a line a case, to be committed")
      ->type_name(value_name::kFile)
      ->check(kFileName);
  add_allow_growth_option(*command, options->allow_growth)->needs(baseline);
  command
      ->add_option("--window-tolerance", options->window_tolerance,
                   "Bytes by which a peak may miss its window, such as 4KiB; default: 0")
      ->type_name(value_name::kSize);
  command->add_flag("--full-names", options->full_names,
                    "Print axes at their default too, in the table and in markdown");
  command->add_flag("--json", options->json, "Print the verdicts as JSON instead of a table");
  command->footer(
      "Exit code: 0 clean, 1 a verdict failed, 2 a run file or baseline cannot be read, 3 a measurement "
      "failed or a "
      "case\n"
      "of the suite is missing, 4 nothing was measured.");
  command->callback([options, &result] { result.code = check(*options); });
}

}  // namespace peakmark::cli
