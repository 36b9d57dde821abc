#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/difference.hpp"
#include "base/error.hpp"
#include "base/size.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "cli/command.hpp"
#include "cli/command_words.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/builds/bisection.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::cli {
namespace {

using json_fields::Json;

const char* name_of(TrialVerdict verdict) {
  if (verdict == TrialVerdict::skipped) return "skipped";
  return verdict == TrialVerdict::good ? "good" : "bad";
}

const char* name_of(BisectEnd end) {
  switch (end) {
    case BisectEnd::found:
      return "found";
    case BisectEnd::not_worse:
      return "not_worse";
    case BisectEnd::only_skipped:
      return "only_skipped";
    case BisectEnd::interrupted:
      break;
  }
  return "interrupted";
}

/// The metric of a case on both sides of a comparison, and its relative change. Unknown is empty.
struct Figure {
  Json base;
  Json value;
  Json relative;
  std::string base_text;
  std::string text;
};

Figure figure(const BisectTrial& trial, const std::string& metric) {
  Figure figure;
  if (!trial.comparison) return figure;
  const CaseComparison& one = trial.comparison->cases.front();
  if (one.new_outcome != Outcome::ok || metric == kOutcomeMetric) {
    figure.text = to_string(one.new_outcome);
    if (metric != kOutcomeMetric) return figure;
    figure.base_text = to_string(one.base_outcome);
    figure.base = figure.base_text;
    figure.value = figure.text;
  } else if (metric == kTimeMetric) {
    if (!one.time || !one.time->change) return figure;
    const TimeChange& change = *one.time->change;
    auto [base, next] = format_durations(change.base_ns, change.new_ns);
    figure = {change.base_ns, change.new_ns, change.relative, std::move(base), std::move(next)};
  } else if (const BytesComparison* const bytes = one.find(metric); bytes != nullptr && bytes->next) {
    figure = {json_fields::or_null(bytes->base), *bytes->next, json_fields::or_null(bytes->relative),
              bytes->base ? format_size(*bytes->base) : "",
              format_size_beside(*bytes->next, bytes->base.value_or(*bytes->next))};
  }
  return figure;
}

/// Returns `3000 B -> 3256 B (+8.53 %)`.
std::string change_text(const BisectTrial& trial, const std::string& metric) {
  const Figure found = figure(trial, metric);
  if (found.base.is_null()) return found.text;
  const std::string share =
      found.relative.is_null() ? "" : " (" + format_change(found.relative.get<double>(), 2) + ")";
  return fmt::format("{} -> {}{}", found.base_text, found.text, share);
}

/// Returns `2026-01-31`.
std::string day_of(const CommitInfo& commit) {
  return commit.date.substr(0, commit.date.find('T'));
}

std::string commit_text(const CommitInfo& commit) {
  return fmt::format("{} ({}) {}", short_commit(commit.hash), day_of(commit), one_line(commit.subject));
}

std::string trials_table(const BisectReport& report) {
  TextTable table({{"commit"}, {"verdict"}, {report.metric}, {"date"}, {"subject"}});
  const auto add = [&](const CommitInfo& commit, const char* verdict, const std::string& value) {
    table.add({short_commit(commit.hash), verdict, value, day_of(commit), commit.subject});
  };
  std::string good;
  for (const BisectTrial& one : report.trials) {
    good = figure(one, report.metric).base_text;
    if (!good.empty()) break;
  }
  add(report.good, "good", good);
  for (const BisectTrial& one : report.trials)
    add(one.commit, name_of(one.verdict), figure(one, report.metric).text);
  std::string text = table.text();
  for (const BisectTrial& one : report.trials) {
    if (!one.reason.empty())
      text += fmt::format("{}: {}\n", short_commit(one.commit.hash), one_line(one.reason));
  }
  return text;
}

std::string candidates_text(const BisectReport& report) {
  return fmt::format("the first bad commit is one of {}, after {} up to {}", report.candidates.size(),
                     short_commit(report.last_good.hash), short_commit(report.first_bad.hash));
}

std::string head_text(const BisectReport& report) {
  const auto trial_of = [&](const CommitInfo& commit) { return report.trial(commit.hash); };
  switch (report.end) {
    case BisectEnd::found: {
      std::string text = fmt::format("first bad commit: {}\n", commit_text(report.first_bad));
      if (const BisectTrial* const trial = trial_of(report.first_bad)) {
        text += fmt::format("{}: {}: {}, compared with {}\n\n", report.case_name, report.metric,
                            change_text(*trial, report.metric), short_commit(report.good.hash));
        text += comparison_table(*trial->comparison);
      }
      return text;
    }
    case BisectEnd::not_worse: {
      const BisectTrial* const trial = trial_of(report.bad);
      return fmt::format(
          "{} is not worse in {} than in {}: {}: {}; name an older good commit, another "
          "--case or another --metric\n",
          report.case_name, short_commit(report.bad.hash), short_commit(report.good.hash), report.metric,
          trial == nullptr ? "" : change_text(*trial, report.metric));
    }
    case BisectEnd::only_skipped:
      return candidates_text(report) + "; those between were skipped\n";
    case BisectEnd::interrupted:
      break;
  }
  return "interrupted: " + candidates_text(report) + "\n";
}

Json commit_json(const CommitInfo& commit) {
  return {{"commit", commit.hash}, {"date", commit.date}, {"subject", commit.subject}};
}

// Returns
// - clean: the first bad commit was found;
// - verdict: the bad commit is not worse;
// - measurement: the remaining commits cannot be judged;
// - interrupted.
ExitCode bisect_exit_code(const BisectReport& report) {
  switch (report.end) {
    case BisectEnd::found:
      return ExitCode::clean;
    case BisectEnd::not_worse:
      return ExitCode::verdict;
    case BisectEnd::only_skipped:
      return ExitCode::measurement;
    case BisectEnd::interrupted:
      break;
  }
  return ExitCode::interrupted;
}

std::string bisect_text(const BisectReport& report) {
  std::string text = head_text(report) + "\n" + trials_table(report);
  if (!report.command.empty()) {
    text += fmt::format("\n{}:\n  {}\n",
                        report.end == BisectEnd::found ? "compare it with its parent" : "continue with",
                        report.command);
  }
  return text;
}

std::string bisect_json(const BisectReport& report) {
  const bool is_found = report.end == BisectEnd::found;
  Json json = json_fields::begin(format::kBisection);
  json.update({{"end", name_of(report.end)},
               {"exit_code", static_cast<int>(bisect_exit_code(report))},
               {"case", report.case_name},
               {"metric", report.metric},
               {"good", commit_json(report.good)},
               {"bad", commit_json(report.bad)},
               {"first_bad", is_found ? commit_json(report.first_bad) : Json(nullptr)},
               {"candidates", report.candidates},
               {"trials", Json::array()},
               {"comparison", nullptr},
               {"command", json_fields::null_if_empty(report.command)}});
  for (const BisectTrial& one : report.trials) {
    const Figure of = figure(one, report.metric);
    Json row = commit_json(one.commit);
    row["verdict"] = name_of(one.verdict);
    row["reason"] = json_fields::null_if_empty(one.reason);
    row["base"] = of.base;
    row["new"] = of.value;
    row["relative"] = of.relative;
    json["trials"].push_back(std::move(row));
  }
  const BisectTrial* const trial = is_found ? report.trial(report.first_bad.hash) : nullptr;
  if (trial != nullptr && trial->comparison) json["comparison"] = comparison_json(*trial->comparison);
  return json_fields::pretty(json);
}

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
