#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/bisect_report.hpp"
#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"

namespace peakmark::cli {
namespace {

struct BisectOptions {
  std::vector<std::string> inputs;
  BisectRequest request;
  bool json = false;
};

/// Returns the words after `--` as text for a shell. A single word already is such a text.
std::string as_shell_command(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  std::vector<std::string> quoted;
  quoted.reserve(words.size());
  for (const std::string& word : words) quoted.push_back(shell_word(word));
  return fmt::format("{}", fmt::join(quoted, " "));
}

void set_request(BisectOptions& options, const std::vector<std::string>& words) {
  BisectRequest& request = options.request;
  std::vector<std::string> commits;
  for (const std::string& text : options.inputs) {
    if (take_axis(text, request.sweep.selection)) continue;
    if (std::filesystem::path(text).extension() == ".toml") {
      request.sweep.selection.suites.emplace_back(text);
    } else {
      commits.push_back(text);
    }
  }
  if (request.sweep.selection.suites.empty())
    throw UsageError("no suite: write SUITE GOOD BAD, the suite as a .toml file");
  if (commits.size() != 2)
    throw UsageError(fmt::format("bisect needs two commits and was given {}: write SUITE GOOD BAD",
                                 quantity(commits.size(), "commit")));
  request.good = commits[0];
  request.bad = commits[1];
  const auto program = program_after_dashes(words);
  if (!program || program->empty())
    throw UsageError("no build command: write it after --, such as -- make -j4");
  request.build_command = as_shell_command(*program);
}

ExitCode bisect_commits(BisectOptions& options, const std::vector<std::string>& words) {
  set_request(options, words);
  const BisectReport report = bisect(options.request);
  print_text(options.json ? bisect_json(report) : bisect_text(report));
  return bisect_exit_code(report);
}

}  // namespace

void add_bisect_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<BisectOptions>();
  BisectRequest& request = options->request;
  SweepOptions& sweep = request.sweep;
  CLI::App* const command =
      app.add_subcommand("bisect", "Find the commit in which a case became worse, with git bisect");
  command
      ->add_option(
          "INPUT", options->inputs,
          "A suite; the good and the bad commit, the older one first; values of axes, such as nx=512")
      ->required();
  command->add_option("--case", request.case_name, "Judge this case: its name, as `peakmark list` prints it")
      ->type_name("CASE")
      ->required();
  command
      ->add_option("--metric", request.metric,
                   "Judge by this metric. Default: the first in which the bad commit is worse, of outcome, "
                   "peak, leak and time")
      ->type_name("{outcome,requested_peak_bytes,setup_bytes,leaked_bytes,gpu_time_ns}")
      ->check(CLI::IsMember({kOutcomeMetric, kPeakMetric, kSetupMetric, kLeakMetric, kTimeMetric}));
  add_axis_option(*command, sweep.selection);
  add_device_options(*command, sweep.selection);
  const auto of_metrics = [&request](CLI::Option* option, const std::string& when,
                                     const std::function<bool(const std::string&)>& is_judged_by) {
    return only_when(option, when, [&request, is_judged_by] {
      return request.metric.empty() || is_judged_by(request.metric);
    });
  };
  const auto of_times = [&](CLI::Option* option) {
    return of_metrics(only_with_times(option, sweep.selection), "without --metric, or with gpu_time_ns",
                      [](const std::string& metric) { return metric == kTimeMetric; });
  };
  of_metrics(add_allow_growth_option(*command, request.allow_growth),
             "without --metric, or with one of bytes",
             [](const std::string& metric) { return metric != kTimeMetric && metric != kOutcomeMetric; });
  sweep.rounds = 15;
  of_times(command->add_option("--rounds", sweep.rounds, "Time in this many A/B rounds, 9 or more"))
      ->check(CLI::Range(1, kMaxRounds))
      ->capture_default_str();
  of_times(command->add_option("--cache", sweep.cache,
                               "Time with a cold cache or a hot one. Default: cold on a GPU, hot on a CPU"))
      ->check(CLI::IsMember({"cold", "hot"}));
  add_worker_option(*command, sweep.worker, "Use this program of each commit");
  add_timeout_option(*command, sweep.case_limit);
  command->add_flag("--force", request.force, "Compare although build types differ");
  command->add_flag("--json", options->json, "Print the result as JSON");
  set_help(
      *command,
      {.notes = {"`peakmark bisect SUITE GOOD BAD --case CASE -- BUILD_COMMAND` builds and measures "
                 "commits in worktrees of their own, interleaved with GOOD. A single word after "
                 "-- is run by the shell.",
                 "A commit that does not build, or in which the case is missing or fails, is skipped. "
                 "Uncommitted changes are not measured; the suite is that of the checkout."},
       .exit_codes = {{"0", "the first bad commit was found"},
                      {"1", "BAD is not worse than GOOD"},
                      {"2", "wrong usage, no repository, unknown commits, or GOOD is not an ancestor of BAD"},
                      {"3", "GOOD or BAD does not build or fails, or only skipped commits are left"},
                      {"4", "there is no such device"},
                      {"130", "interrupted; the worktrees are removed"}}});
  command->callback([options, &result] { result.code = bisect_commits(*options, result.words); });
}

}  // namespace peakmark::cli
