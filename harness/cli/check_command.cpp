#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyse/explain/report/reports.hpp"
#include "analyse/history/history.hpp"
#include "analyse/trend/accepted_levels.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/check/baseline.hpp"
#include "measure/check/judge.hpp"
#include "measure/check/reports.hpp"
#include "measure/estimate/external_estimates.hpp"
#include "measure/git/git_repository.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/progress.hpp"
#include "measure/supervise/recorded_estimates.hpp"

namespace peakmark::cli {
namespace {

struct CheckOptions {
  std::vector<std::filesystem::path> runs;
  JudgeOptions judge;
  std::optional<std::filesystem::path> junit;
  std::optional<std::filesystem::path> markdown;
  std::optional<std::filesystem::path> baseline;
  std::optional<std::filesystem::path> update_baseline;
  bool prune = false;
  std::optional<Size> window_tolerance;
  RecordedQuestion question;  ///< if its estimator is empty, the recorded estimates are judged
  std::string history;        ///< empty: none
  bool full_names = false;
  bool json = false;
  bool brief = false;
};

struct JudgedRun {
  Run run;
  std::vector<Verdict> verdicts;
};

/// Returns the same run with all axes in the case names, for users. JSON and JUnit keep the short names.
JudgedRun with_full_names(const JudgedRun& judged) {
  JudgedRun named = judged;
  std::unordered_map<std::string, std::string_view> full_names;
  for (PlannedCase& planned : named.run.context.planned) {
    std::string name = std::exchange(planned.name, full_case_name(planned.sweep_case));
    full_names.emplace(std::move(name), planned.name);
  }
  const auto replace = [&](auto& name) {
    if (const auto found = full_names.find(std::string(name)); found != full_names.end())
      name = found->second;
  };
  for (Observation& observation : named.run.observations) replace(observation.case_name);
  for (Verdict& verdict : named.verdicts)
    replace(verdict.case_name);  // of a planned case: this reference moves with it
  return named;
}

/// Returns the output file of a run. With several runs, each has a separate file: `junit.xml`, `junit.2.xml`,
/// ….
std::filesystem::path numbered(const std::filesystem::path& path, std::size_t index) {
  if (index == 0) return path;
  std::filesystem::path numbered = path;
  return numbered.replace_filename(
      fmt::format("{}.{}{}", path.stem().string(), index + 1, path.extension().string()));
}

/// Prints a line with some of these names; nothing if there are none.
void print_names(const std::string& what, const std::vector<std::string>& names, const char* advice = "") {
  constexpr std::size_t kMaxNamed = 3;
  if (names.empty()) return;
  print_message(stderr, "{}: {}: {}{}\n", what, quantity(names.size(), "case"),
                plain_text(first_names(names, kMaxNamed)), advice);
}

/// Adds the measurements of the runs to a baseline, and prints what stays. Returns `nothing` if nothing was
/// measured.
ExitCode write_baseline(const std::vector<Run>& runs, const std::filesystem::path& path, bool prune) {
  const BaselineUpdate update = update_baseline(runs, path, prune);
  if (update.measured == 0) {
    print_message(stderr, "{}: not changed: nothing was measured\n", path.string());
    return ExitCode::nothing;
  }
  std::string what;
  for (const auto& [count, word] : {std::pair{update.added, "new"},
                                    {update.changed, "changed"},
                                    {prune ? update.not_in_suite.size() : 0, "removed"}}) {
    if (count > 0) what += fmt::format("{}{} {}", what.empty() ? "" : ", ", count, word);
  }
  print_message(stderr, "{}: the bytes of {}, {}\n", path.string(), quantity(update.cases, "case"),
                what.empty() ? "unchanged" : what + "; commit it");
  print_names("kept, not measured", update.not_measured);
  print_names("kept, not in this run", update.not_in_run);
  if (prune) {
    print_names("removed, no longer in the suite", update.not_in_suite);
  } else {
    print_names("kept, no longer in the suite", update.not_in_suite, "; --prune removes them");
  }
  return ExitCode::clean;
}

/// Returns the width of the terminal; unlimited for a file or a pipe.
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

/// An explanation of the wrong estimators of a variant.
struct ExplainedEstimators {
  std::string variant;
  FormulaReport report;
};

/// Explains the estimators outside their window, if the run has allocation sequences.
std::vector<ExplainedEstimators> explain_failed_estimates(const JudgedRun& judged) {
  std::map<std::string, std::vector<VariantEstimator>> wrong;  // by variant
  const auto observations = by_name(judged.run);
  for (const Verdict& verdict : judged.verdicts) {
    if (verdict.judgement != Judgement::fail || !is_window(verdict.rule)) continue;
    const auto observation = observations.find(verdict.case_name);
    if (observation == observations.end()) continue;
    const std::string& variant = observation->second->variant;
    auto& of_variant = wrong[variant];
    if (std::ranges::find(of_variant, verdict.estimator, &VariantEstimator::estimator) == of_variant.end())
      of_variant.push_back({variant, std::string(verdict.estimator)});
  }
  std::vector<ExplainedEstimators> explained;
  explained.reserve(wrong.size());
  for (const auto& [variant, estimators] : wrong)
    explained.push_back({variant, explain_estimators(judged.run, estimators)});
  return explained;
}

void write_reports(const CheckOptions& options, std::size_t index, const JudgedRun& judged,
                   const JudgeOptions& judge_options) {
  const std::optional<JudgedRun> full =
      options.full_names ? std::optional(with_full_names(judged)) : std::nullopt;
  const JudgedRun& shown = full ? *full : judged;
  const std::vector<ExplainedEstimators> explained = explain_failed_estimates(judged);
  std::string causes;
  std::vector<EstimateCauses> causes_of_variants;
  causes_of_variants.reserve(explained.size());
  for (const ExplainedEstimators& one : explained) {
    causes_of_variants.push_back({one.variant, causes_text(one.report)});
    causes += causes_of_variants.back().text;
  }
  if (options.json) {
    json_fields::Json json = options.brief ? cases_only_json(judged.run, judged.verdicts)
                                           : verdicts_json(judged.run, judged.verdicts, judge_options);
    if (!causes.empty()) {
      json["causes"] = json_fields::Json::array();
      for (const ExplainedEstimators& one : explained) {
        for (const json_fields::Json& cause : causes_json(one.report)) json["causes"].push_back(cause);
      }
    }
    print_text(json_fields::pretty(json));
  } else {
    print_text(console_table(shown.run, shown.verdicts, table_width(), judge_options));
    if (!causes.empty()) print_text("\nwhy estimates are wrong:\n" + causes);
  }
  if (options.junit) {
    write_output_file(numbered(*options.junit, index),
                      junit(judged.run, judged.verdicts, judge_options, causes_of_variants));
  }
  if (options.markdown) {
    std::string text = markdown(shown.run, shown.verdicts, judge_options);
    if (!causes.empty()) text += "\nWhy estimates are wrong:\n\n```\n" + causes + "```\n";
    write_output_file(numbered(*options.markdown, index), text);
  }
}

/// Turns failures that were accepted for the device of the run into warnings.
void accept_verdicts(history::History& history, JudgedRun& judged) {
  const auto device = find_device(history, judged.run.context);
  if (!device) return;  // this is the first run of its device
  trend::accept_verdicts(history.read_device(*device), judged.run, judged.verdicts);
}

ExitCode check(const CheckOptions& options) {
  JudgeOptions judge_options = options.judge;
  judge_options.window_tolerance = options.window_tolerance.value_or(0);
  remove_earlier_reports(options);
  if (options.baseline && options.runs.size() > 1) {
    throw UsageError("--baseline takes one run; merge shards with `peakmark merge`");
  }
  std::optional<Baseline> baseline;
  if (options.baseline) baseline = read_baseline(*options.baseline);
  if (baseline) judge_options.baseline = &*baseline;
  std::unique_ptr<history::History> history;
  if (!options.history.empty()) history = open_history(options.history, history::History::Purpose::read);
  std::vector<Run> runs;
  runs.reserve(options.runs.size());
  for (const std::filesystem::path& file : options.runs) runs.push_back(read_run(file));
  if (options.prune) check_can_prune(runs);
  ExitCode code = ExitCode::clean;
  for (std::size_t i = 0; i < options.runs.size(); ++i) {
    JudgedRun judged{std::move(runs[i]), {}};
    if (const std::string warning = later_run_warning(options.runs[i]); !warning.empty()) {
      print_message(stderr, "warning: {}\n", warning);
      judged.run.context.warnings.push_back(warning);
    }
    for (const std::string& warning : judged.run.context.warnings) {
      if (is_estimator_warning(warning) || is_other_commit_warning(warning))
        print_message(stderr, "warning: {}\n", warning);
    }
    if (!options.question.estimator.empty()) {
      print_message(stderr, "asked {} about {}\n", options.question.estimator,
                    quantity(ask_about_run(judged.run, options.question), "recorded case"));
    }
    judged.verdicts = judge(judged.run, judge_options);
    if (history) accept_verdicts(*history, judged);
    write_reports(options, i, judged, judge_options);
    code = worse(code, exit_code_of(judged.run, judged.verdicts));
    runs[i] = std::move(judged.run);
  }
  if (options.update_baseline)
    code = worse(code, write_baseline(runs, *options.update_baseline, options.prune));
  return code;
}

}  // namespace

void add_check_command(CLI::App& app, Result& result) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      app.add_subcommand("check", "Judge runs: outcomes, estimators against the window, leaks");
  command->add_option("RUN", options->runs, "Run files")->required();
  add_parsed_option(
      *command, "--window",
      [options = options.get()](const std::string& text) { options->judge.window = parse_window(text); },
      "Judge estimators by this window instead of the suite's, such as 0.8:1.0")
      ->type_name(value_name::kWindow);
  add_size_option(*command, "--window-tolerance", options->window_tolerance,
                  "Allow a peak to miss its window by these bytes, such as 4KiB. Default: 0");
  add_file_option(*command, "--junit", options->junit, "Write the verdicts as JUnit XML");
  add_file_option(*command, "--markdown", options->markdown, "Write a summary in markdown");
  CLI::Option* const baseline =
      add_file_option(*command, "--baseline", options->baseline,
                      "Fail cases that need more bytes than in this run file, or file of --update-baseline");
  CLI::Option* const update = add_file_option(
      *command, "--update-baseline", options->update_baseline,
      "Write the bytes of each measured case to this file, to be committed. Other cases of the "
      "file stay");
  command->add_flag("--prune", options->prune, "Remove cases from it that the suite no longer has")
      ->needs(update);
  add_allow_growth_option(*command, options->judge.allowed_growth)->needs(baseline);
  command
      ->add_option(
          "--history", options->history,
          "Do not fail for what `peakmark trends accept` accepted in this history, an SQLite file or "
          "postgresql://… URL, as long as it is not worse than then")
      ->type_name(value_name::kHistory)
      ->check(kNotEmpty);
  CLI::Option* const estimator =
      command
          ->add_option("--estimator", options->question.estimator,
                       "Judge this estimator instead of the recorded answers, without measuring again: "
                       "python:package.module:function, command:PROGRAM, or a name in --suite")
          ->type_name("CALL");
  const auto of_call = [options](CLI::Option* option) {
    return only_when(option, "with --estimator python:… or command:…",
                     [options] { return is_estimator_call(options->question.estimator); });
  };
  of_call(add_form_option(*command, options->question.call));
  of_call(add_dimensions_option(*command, options->question.call));
  command->add_option("--suite", options->question.suites, "Use the programs and estimators of these suites")
      ->type_name(value_name::kSuite)
      ->allow_extra_args(false)  // a run file may follow
      ->needs(estimator);
  add_worker_option(*command, options->question.worker)->needs(estimator);
  add_python_option(*command, options->question.call, [options] { return options->question.estimator; });
  add_answer_limit_option(*command, options->question.seconds)->needs(estimator);
  only_when(command->add_flag("--full-names", options->full_names,
                              "Print axes with default values too, in the table and in markdown"),
            "without --json, or with --markdown",
            [command] { return command->count("--json") == 0 || command->count("--markdown") > 0; });
  CLI::Option* const json = command->add_flag("--json", options->json, "Print the verdicts as JSON");
  command
      ->add_flag("--brief", options->brief,
                 "With --json: only headline, exit code and a verdict for each case")
      ->needs(json);
  set_help(*command, {.exit_codes = {{"0", "clean"},
                                     {"1", "a verdict failed"},
                                     {"2", "wrong usage, or a run file or baseline cannot be read"},
                                     {"3", "a measurement failed, or a case of the suite is missing"},
                                     {"4", "nothing was measured"}}});
  command->callback([options, &result] { result.code = check(*options); });
}

}  // namespace peakmark::cli
