#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "analyse/explain/report/emit.hpp"
#include "analyse/explain/report/reports.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/explain_inputs.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"
#include "measure/estimate/external_estimates.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/recorded_estimates.hpp"
#include "measure/supervise/run_workers.hpp"
#include "measure/sweep/nearest_word.hpp"

namespace peakmark::cli {
namespace {

struct ExplainOptions {
  std::vector<std::string> inputs;  ///< run files, and AXIS=VALUE
  std::string against;
  ExternalEstimator call;  ///< if `against` is python:… or command:…
  AxisLengths at;
  std::string emit;
  EmitOptions emitted;
  std::string plot;
  CurveOptions curve;
  SweepOptions sweep;
  ShapeEffort effort;
  std::vector<std::filesystem::path> suites;  ///< suites with the estimator of `against`
  std::optional<double> seconds;              ///< limit for an answer of the estimator
  std::size_t frames = 0;                     ///< number of frames of call sites
  bool json = false;
};

/// Reads `ny=4096,nx=4096`.
AxisLengths parse_shape(const std::string& text) {
  AxisLengths shape;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto [axis, value] = split_key_value(part);
    shape.emplace_back(axis, std::get<Size>(parse_axis_value({axis, Size{0}, {}, 0, ""}, value)));
  }
  return shape;
}

/// Asks the estimator of `--against` about the cases of the run, unless the run has its answers. Returns the
/// estimator's name in the run; empty: each variant's default.
std::string ask_estimator(Run& run, const ExplainOptions& options, const ExplainInputs& inputs) {
  RecordedQuestion question;
  question.estimator = options.against == "own" ? "" : options.against;
  question.call = options.call;
  question.suites = inputs.suites.empty() ? options.suites : inputs.suites;
  question.worker = options.sweep.worker;
  question.slice_axis = options.emitted.slice_axis;
  question.seconds = options.seconds;
  const std::set<std::string> names = answered_estimators(run);
  if (question.estimator.empty() || names.contains(question.estimator)) {
    for (const std::string& warning : run.context.warnings) {
      if (is_estimator_warning(warning)) print_message(stderr, "warning: {}\n", warning);
    }
    add_recorded_terms(run, question);
    return question.estimator;
  }
  if (!is_estimator_call(question.estimator) && question.suites.empty())
    throw UsageError(
        fmt::format("no answers of an estimator '{}' in this run{}; if a suite has it, name the suite "
                    "with --suite",
                    question.estimator, suggest_word(question.estimator, {names.begin(), names.end()})));
  // A run of a program without an estimator does not record how many slices its cases have.
  if (question.slice_axis.empty() && names.empty()) question.slice_axis = "n";
  ask_about_run(run, question);
  return question.estimator;
}

void add_curves(FormulaReport& report, const Run& run, const ExplainOptions& options) {
  report.context = &run.context;
  report.curves.reserve(report.variants.size());
  for (const VariantFormulas& variant : report.variants)
    report.curves.push_back(memory_curve(variant, options.curve));
}

// Throws UsageError if no variant has an axis of --at.
void check_shown_shape(const FormulaReport& report) {
  std::set<std::string> known;
  for (const VariantFormulas& variant : report.variants) {
    for (const Shapes::Axis& axis : variant.shapes().axes) known.insert(axis.name);
  }
  for (const auto& [axis, value] : report.at) {
    if (!known.contains(axis))
      throw UsageError(
          fmt::format("--at {}={}: no such axis; the axes are {}", axis, value, fmt::join(known, ", ")));
  }
}

ExitCode explain_run(const ExplainOptions& options, Run run, const ExplainInputs& inputs) {
  std::optional<std::string> estimator;
  if (!options.against.empty()) estimator = ask_estimator(run, options, inputs);
  FormulaReport report{explain_cases(group_cases(run), options.frames), {}, options.at};
  check_shown_shape(report);
  if (!options.emit.empty()) {
    print_text(emit(report.variants, run.context, options.emitted));
    return ExitCode::clean;
  }
  for (std::size_t i = 0; estimator && i < report.variants.size(); ++i) add_findings(report, i, *estimator);
  if (options.json || !options.plot.empty()) add_curves(report, run, options);
  if (!options.plot.empty())
    become_python_reports({"formulas", "--output=" + options.plot}, "", formulas_json(report));
  print_text(options.json ? formulas_json(report) : formulas_text(report));
  const bool is_clean = std::ranges::all_of(report.variants, &VariantFormulas::is_explained) &&
                        std::ranges::all_of(report.findings, &EstimatorFindings::is_exact);
  return is_clean ? ExitCode::clean : ExitCode::verdict;
}

ExitCode compare_runs(const Run& base, const Run& next, const ExplainOptions& options) {
  const auto base_formulas = explain_cases(group_cases(base), options.frames);
  const auto next_formulas = explain_cases(group_cases(next), options.frames);
  const std::vector<ChangedVariant> changed = changed_formulas(base_formulas, next_formulas);
  print_text(options.json ? changed_formulas_json(changed) : changed_formulas_text(changed));
  return std::ranges::any_of(changed, &ChangedVariant::is_in_both) ? ExitCode::verdict : ExitCode::clean;
}

void check_plot(const ExplainOptions& options, const ExplainInputs& inputs) {
  if (options.plot.empty()) return;
  if (options.json || !options.emit.empty() || !options.against.empty())
    throw UsageError("--plot draws the formulas: leave out --json, --emit and --against");
  check_plot_file(options.plot);
  remove_earlier_outputs({options.plot}, inputs.runs);
}

ExitCode explain_inputs(ExplainOptions& options) {
  const ExplainInputs inputs = split_inputs(options.inputs);
  options.curve.at = options.at;
  options.effort.with_larger = true;
  if (inputs.runs.empty()) find_worker_here(options.sweep, inputs.variants);
  check_plot(options, inputs);
  if (!options.emit.empty()) {
    if (options.json || !options.against.empty())
      throw UsageError("--emit prints an estimator: leave out --json and --against");
    options.emitted.form = parse_emit_form(options.emit);
    options.emitted.source = fmt::format("{}", fmt::join(options.inputs, " "));
    for (const Formula& dimension : options.call.other_dimensions)
      options.emitted.other_dimensions.push_back(dimension.text());
  }
  if (inputs.runs.size() < 2)
    return explain_run(options,
                       read_or_record(inputs, options.sweep, options.effort,
                                      options.plot.empty() ? nullptr : &options.curve),
                       inputs);
  if (!options.emit.empty() || !options.against.empty() || !options.plot.empty())
    throw UsageError("two run files are compared: leave out --emit, --against and --plot");
  const std::optional<std::string>& filter = options.sweep.selection.filter;
  return compare_runs(read_cases(inputs.runs.front(), inputs, filter),
                      read_cases(inputs.runs.back(), inputs, filter), options);
}

/// Reads `2%` or `2`.
int parse_margin(const std::string& text) {
  const auto percent = parse_number<int>(text.ends_with('%') ? text.substr(0, text.size() - 1) : text);
  if (!percent || *percent < 0 || *percent > 1000)
    throw UsageError(fmt::format("'{}' is not a margin: write a percentage such as 2%", text));
  return *percent;
}

}  // namespace

void add_explain_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* const command = app.add_subcommand("explain", "Find the formulas of allocations and of the peak");
  command
      ->add_option(
          "INPUT", options->inputs,
          "A variant, a suite, a run file of `run --sequences`, two run files to see what changed, or "
          "profiles, each with its shape: a.profile nx=64 b.profile nx=96. AXIS=VALUE before them takes "
          "only cases with this value, a variant after a run file only its cases")
      ->required();
  CLI::Option* const against =
      command
          ->add_option("--against", options->against,
                       "Explain why this estimator is wrong: own, a name, python:package.module:function or "
                       "command:PROGRAM")
          ->type_name("ESTIMATOR");
  // The inputs are the first option, so they are parsed when a condition is evaluated.
  const auto inputs = [options = options.get()] { return split_inputs(options->inputs); };
  const auto has = [command](const char* name) { return command->count(name) > 0; };
  const auto of_one_run = [inputs](CLI::Option* option) {
    return only_when(option, "without a second run file", [inputs] { return inputs().runs.size() < 2; });
  };
  only_when(of_one_run(add_parsed_option(
                *command, "--at",
                [options = options.get()](const std::string& text) { options->at = parse_shape(text); },
                "Print bytes at this shape, such as ny=4096,nx=4096. Default: the largest recorded")),
            "without --emit", [has] { return !has("--emit"); })
      ->type_name("AXIS=VALUE");
  CLI::Option* const emit = command->add_option("--emit", options->emit, "Print the formulas as an estimator")
                                ->type_name("{python,cpp,toml}");
  add_parsed_option(
      *command, "--margin",
      [options = options.get()](const std::string& text) {
        options->emitted.margin_percent = parse_margin(text);
      },
      "Add this to the bytes of an emitted estimator, such as 2%")
      ->type_name("PERCENT")
      ->needs(emit);
  add_file_option(*command, "--plot", options->plot,
                  "Draw memory against shape by formula: a .png, .svg or .pdf file");
  const auto of_plot = [&](CLI::Option* option) {
    return only_when(of_one_run(option), "with --plot or --json",
                     [has] { return has("--plot") || has("--json"); });
  };
  of_plot(command->add_option("--axis", options->curve.axis,
                              "Draw against this axis. Default: the first that grows"))
      ->type_name("AXIS");
  of_plot(add_size_option(*command, "--budget", options->curve.budget_bytes,
                          "Draw up to the shape that needs this memory, such as 16GiB, and mark it"));
  const auto of_estimator = [&](CLI::Option* option) {
    return only_when(option, "with --against or --emit", [has] { return has("--against") || has("--emit"); });
  };
  of_estimator(
      command->add_option("--slice-axis", options->emitted.slice_axis, "The axis of slices. Default: n"))
      ->type_name("AXIS");
  add_parsed_option(
      *command, "--dtype",
      [options = options.get()](const std::string& text) { options->emitted.dtype = parse_dtype(text); },
      "The dtype of the input of variants without an axis dtype, for --emit. Default: float32")
      ->type_name("DTYPE")
      ->needs(emit);
  only_when(add_form_option(*command, options->call), "with --against python:… or command:…",
            [options = options.get()] { return is_estimator_call(options->against); });
  of_estimator(add_dimensions_option(*command, options->call));
  add_python_option(*command, options->call, [options = options.get()] { return options->against; });
  add_answer_limit_option(*command, options->seconds)->needs(against);
  only_when(
      command->add_option("--suite", options->suites, "Use the programs and estimators of these suites"),
      "without a suite to explain", [inputs] { return inputs().suites.empty(); })
      ->type_name(value_name::kSuite)
      ->allow_extra_args(false)  // a run file may follow
      ->needs(against);
  only_when(command->add_option("--filter", options->sweep.selection.filter,
                                "Explain only cases whose names match"),
            "with suites and run files",
            [inputs] {
              const ExplainInputs all = inputs();
              return !all.runs.empty() || (!all.suites.empty() && all.variants.empty());
            })
      ->type_name(value_name::kRegex);
  const auto of_recording = [inputs](CLI::Option* option) {
    return only_when(option, "with a variant or a suite", [inputs] {
      const ExplainInputs all = inputs();
      return all.runs.empty() && all.profiles.empty();
    });
  };
  for (CLI::Option* const option : add_device_options(*command, options->sweep.selection))
    of_recording(option);
  of_recording(command->add_option(
                   "--shapes", options->effort.shapes,
                   "Record this number of shapes of each variant and its words; a quarter is held out. "
                   "Default: 24 or more, at most 28 of a program"))
      ->type_name("NUMBER")
      ->check(CLI::Range(kMinExplainedShapes, std::size_t{200}));
  of_recording(add_seconds_option(*command, "--deadline", options->effort.time,
                                  "Record as many shapes as take no longer than this"));
  only_when(add_worker_option(*command, options->sweep.worker,
                              "Record variants of this worker, or ask it for the terms of its estimators"),
            "with a variant, a suite or --against", [inputs, has] {
              const ExplainInputs all = inputs();
              return has("--against") || (all.runs.empty() && all.profiles.empty());
            });
  only_when(add_frames_option(*command, options->frames), "without --emit", [has] { return !has("--emit"); });
  command->add_flag("--json", options->json, "Print the formulas as JSON");
  set_help(*command,
           {.exit_codes = {{"0", "every byte has a formula, and the estimator is exact"},
                           {"1", "an estimator is wrong, bytes have no formula, or formulas changed"},
                           {"2", "wrong usage, or a run that cannot be read or has no allocation sequences"},
                           {"4", "no shape could be recorded, or --plot draws nothing"}}});
  command->callback([options, &result] { result.code = explain_inputs(*options); });
}

}  // namespace peakmark::cli
