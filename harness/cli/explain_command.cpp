#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "cli/python_reports.hpp"
#include "explain/emit.hpp"
#include "explain/reports.hpp"
#include "runfile/run_file.hpp"
#include "supervise/estimate_question.hpp"
#include "supervise/external_estimates.hpp"
#include "supervise/record_shapes.hpp"
#include "supervise/run_workers.hpp"
#include "sweep/nearest_word.hpp"

namespace peakmark::cli {
namespace {

struct ExplainOptions {
  std::vector<std::string> inputs;  ///< run files, and AXIS=VALUE
  std::string against;
  ExternalEstimator call;  ///< if `against` is python:… or command:…
  std::string at;
  std::string emit;
  EmitOptions emitted;
  std::string plot;
  CurveOptions curve;
  SweepOptions sweep;
  bool json = false;
};

/// Reads `ny=4096` or `mode=edge`.
std::pair<std::string, AxisValue> parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    throw UsageError(fmt::format("'{}' is no value of an axis: write AXIS=VALUE, such as ny=4096", text));
  const std::string value = text.substr(equals + 1);
  Size integer = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), integer);
  const bool is_integer = error == std::errc() && end == value.data() + value.size();
  return {text.substr(0, equals), is_integer ? AxisValue(integer) : AxisValue(value)};
}

FixedAxes parse_axes(const std::string& text) {
  FixedAxes axes;
  std::string::size_type begin = 0;
  while (begin < text.size()) {
    const auto end = std::min(text.find(',', begin), text.size());
    axes.push_back(parse_axis(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return axes;
}

/// What is explained: run files, or suites and variants whose shapes are recorded first.
struct Inputs {
  std::vector<std::filesystem::path> runs;
  std::vector<std::filesystem::path> suites;
  std::vector<std::string> variants;
  FixedAxes fixed;
};

Inputs split_inputs(const std::vector<std::string>& texts) {
  Inputs inputs;
  for (const std::string& text : texts) {
    const std::filesystem::path path(text);
    if (text.find('=') != std::string::npos && !std::filesystem::exists(path)) {
      inputs.fixed.push_back(parse_axis(text));
    } else if (path.extension() == ".toml") {
      inputs.suites.push_back(path);
    } else if (is_variant_name(text) && !std::filesystem::exists(path) && path.extension() != ".json") {
      inputs.variants.push_back(text);
    } else {
      inputs.runs.push_back(path);
    }
  }
  if (inputs.runs.empty() && inputs.suites.empty() && inputs.variants.empty())
    throw UsageError("nothing to explain: write a run file, a suite or a variant");
  if (!inputs.runs.empty() && (!inputs.suites.empty() || !inputs.variants.empty()))
    throw UsageError("a run file is explained alone: leave out the suite or the variant");
  if (inputs.runs.size() > 2) throw UsageError("too many run files: write one, or two to see what changed");
  return inputs;
}

// ---- recording

bool has_fixed_words(const Parameters& words, const FixedAxes& fixed) {
  return std::ranges::all_of(fixed, [&](const auto& one) {
    const AxisValue* const value = words.find(one.first);
    return value == nullptr || *value == one.second;
  });
}

/// Returns a request for each set of words that is wanted of a variant.
void add_requests(std::vector<ShapeRequest>& requests, const VariantDescription& variant,
                  const std::vector<Parameters>& words, const FixedAxes& fixed) {
  std::map<std::string, AxisBounds> bounds;
  for (const auto& [axis, value] : fixed) {
    if (variant.axis(axis) == nullptr)
      throw UsageError(
          fmt::format("{} has no axis '{}'{}", variant.name, axis, suggest_word(axis, variant.axis_names())));
    check_axis_value(*variant.axis(axis), value);
    if (const Size* const integer = std::get_if<Size>(&value)) bounds[axis] = {*integer, *integer};
  }
  for (const Parameters& set : words) {
    if (has_fixed_words(set, fixed)) requests.push_back({variant.name, set, bounds});
  }
}

/// Returns the words of a case without its integers.
Parameters words_of_case(const Parameters& parameters) {
  std::vector<std::pair<std::string, AxisValue>> words;
  for (const auto& [axis, value] : parameters.values()) {
    if (std::holds_alternative<std::string>(value)) words.emplace_back(axis, value);
  }
  return Parameters(std::move(words));
}

/// Records shapes on the curves that are drawn: few of those that were chosen are on them.
void record_curves(ShapeRecorder& recorder, Run& run, const CurveOptions& curve) {
  std::vector<std::pair<std::string, Parameters>> shapes;
  for (const RecordedCases& cases : group_cases(run)) {
    for (Parameters& shape : shapes_on_curve(cases, curve))
      shapes.emplace_back(cases.variant, std::move(shape));
  }
  if (shapes.empty()) return;
  for (Observation& observation : recorder.record(shapes)) {
    if (observation.outcome == Outcome::ok && observation.allocation_sequence)
      run.observations.push_back(std::move(observation));
  }
}

/// Records shapes of the variants that the user names, or of all variants and words in suites.
Run record_shapes(const Inputs& inputs, const ExplainOptions& options) {
  SweepOptions sweep = options.sweep;
  sweep.selection.suites = inputs.suites;
  ShapeRecorder recorder(sweep);
  const Description& description = recorder.vocabulary().description;
  std::vector<ShapeRequest> requests;
  for (const std::string& name : inputs.variants) {
    const VariantDescription* const variant = description.variant(name);
    if (variant == nullptr)
      throw UsageError(
          fmt::format("no variant '{}'{}", name, suggest_word(name, description.variant_names())));
    add_requests(requests, *variant, word_sets(*variant), inputs.fixed);
  }
  if (inputs.variants.empty()) {
    std::map<std::string, std::vector<Parameters>> planned;
    for (const PlannedCase& one : recorder.planned()) {
      auto& sets = planned[one.sweep_case.variant];
      Parameters words = words_of_case(one.sweep_case.parameters);
      if (std::ranges::find(sets, words) == sets.end()) sets.push_back(std::move(words));
    }
    for (const auto& [name, sets] : planned)
      add_requests(requests, *description.variant(name), sets, inputs.fixed);
  }
  if (requests.empty()) throw UsageError("no case has all these values: correct AXIS=VALUE");
  Run run;
  std::map<std::string, std::pair<std::size_t, std::string>> refused;  // of each variant: how many, and why
  for (RecordedShapes& shapes : recorder.record_chosen(requests)) {
    if (!shapes.refused.empty()) {
      auto& [count, reason] = refused[shapes.variant];
      count += shapes.refused.size();
      if (reason.empty()) reason = shapes.refused.front().message;
    }
    std::ranges::move(shapes.observations, std::back_inserter(run.observations));
  }
  for (const auto& [variant, why] : refused)
    print_message(stderr, "{}: {} refused or failed, others were recorded; the first: {}\n", variant,
                  quantity(why.first, "shape was", "shapes were"), why.second);
  if (!options.plot.empty() && !run.observations.empty()) record_curves(recorder, run, options.curve);
  run.context = recorder.context();
  return run;
}

// ---- estimators

/// A variant as its cases show it, for estimators that are called from outside its worker.
VariantDescription describe_cases(const RecordedCases& cases, const std::string& slice_axis) {
  VariantDescription variant;
  variant.name = cases.variant;
  for (const auto& [axis, value] : cases.observations.front()->axes.values()) {
    variant.axes.push_back({axis, value, {}, 0, ""});
    if (axis == (slice_axis.empty() ? "n" : slice_axis)) variant.slice_axis = axis;
  }
  return variant;
}

EstimatedCases ask_call(const RecordedCases& cases, const ExplainOptions& options) {
  ExternalEstimator estimator = options.call;
  estimator.call = options.against;
  estimator.suite_folder = std::filesystem::current_path();
  const VariantDescription variant = describe_cases(cases, options.emitted.slice_axis);
  if (variant.slice_axis.empty())
    throw UsageError(fmt::format("{} has no axis '{}' of slices: write --slice-axis AXIS", cases.variant,
                                 options.emitted.slice_axis.empty() ? "n" : options.emitted.slice_axis));
  EstimatedCases estimated;
  for (const Observation* const observation : cases.observations) {
    const ExternalAnswer answer =
        ask_external(estimator, make_question(estimator, variant, observation->axes), std::nullopt);
    if (answer.error) throw UsageError(fmt::format("{}: {}", options.against, *answer.error));
    estimated.bytes.push_back(answer.bytes);
  }
  return estimated;
}

/// Adds the named terms of an estimator of a worker, where they add up to the bytes that the run has.
void add_terms(EstimatedCases& estimated, const RecordedCases& cases, const VariantDescription& variant,
               const std::filesystem::path& worker, const std::optional<std::string>& estimator) {
  EstimatedCases asked;
  for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
    const Parameters& axes = cases.observations[shape]->axes;
    const EstimateReply reply =
        ask_estimator(worker, estimate_question(variant, axes, std::nullopt, estimator));
    if (reply.error || !reply.bytes || reply.terms.empty()) return;
    if (estimated.bytes[shape] && *estimated.bytes[shape] != *reply.bytes) return;
    asked.bytes.push_back(reply.bytes);
    const Size slices = axes.integer(variant.slice_axis);
    for (const EstimateTerm& term : reply.terms) {
      auto& sizes = asked.terms[term.name];
      sizes.resize(cases.observations.size(), 0);
      sizes[shape] += term.fixed_bytes + term.per_slice_bytes * slices;
    }
  }
  estimated = std::move(asked);
}

EstimatedCases ask_named(const RecordedCases& cases, const ExplainOptions& options,
                         const std::optional<std::pair<std::filesystem::path, Description>>& worker) {
  const std::string name = options.against == "own" ? "" : options.against;
  EstimatedCases estimated = recorded_estimates(cases, name);
  if (worker) {
    if (const VariantDescription* const variant = worker->second.variant(cases.variant))
      add_terms(estimated, cases, *variant, worker->first, name.empty() ? std::nullopt : std::optional(name));
  }
  return estimated;
}

/// The worker, if there is one on this machine: only it can name the terms of its estimators.
std::optional<std::pair<std::filesystem::path, Description>> find_worker(const SweepOptions& sweep) {
  try {
    const std::filesystem::path worker = find_worker_for(sweep);
    return std::pair{worker, describe_worker(worker)};
  } catch (const Error&) {
    if (sweep.worker) throw;
    return std::nullopt;
  }
}

std::vector<EstimatorFindings> compare(const std::vector<VariantFormulas>& variants,
                                       const ExplainOptions& options) {
  const bool is_call = is_estimator_call(options.against);
  if (is_call) check_estimator_call(options.against);
  const auto worker = is_call ? std::nullopt : find_worker(options.sweep);
  std::vector<EstimatorFindings> findings;
  for (const VariantFormulas& variant : variants) {
    std::vector<EstimatedCases> estimated;
    for (const RecordedCases& cases : variant.cases)
      estimated.push_back(is_call ? ask_call(cases, options) : ask_named(cases, options, worker));
    findings.push_back(compare_estimator(variant, options.against, estimated));
  }
  return findings;
}

// ---- the command

Run read_explained_run(const std::filesystem::path& path) {
  if (const std::string warning = later_run_warning(path); !warning.empty())
    print_message(stderr, "warning: {}\n", warning);
  return read_run(path);
}

void add_curves(FormulaReport& report, const Run& run, const ExplainOptions& options) {
  report.context = &run.context;
  report.curves.reserve(report.variants.size());
  for (const VariantFormulas& variant : report.variants)
    report.curves.push_back(memory_curve(variant, options.curve));
}

ExitCode explain_run(const ExplainOptions& options, const Run& run, const Inputs& inputs) {
  FormulaReport report{explain_cases(group_cases(run, inputs.fixed)), {}, parse_axes(options.at)};
  if (!options.emit.empty()) {
    print_text(emit(report.variants, run.context, options.emitted));
    return ExitCode::clean;
  }
  ExitCode code = ExitCode::clean;
  if (!options.against.empty()) {
    report.findings = compare(report.variants, options);
    for (const EstimatorFindings& one : report.findings) {
      if (one.wrong > 0 || !one.error.empty()) code = ExitCode::verdict;
    }
  }
  for (const VariantFormulas& variant : report.variants) {
    if (!variant.is_explained()) code = ExitCode::verdict;
  }
  if (options.json || !options.plot.empty()) add_curves(report, run, options);
  if (!options.plot.empty())
    become_python_reports({"formulas", "--output=" + options.plot}, "", formulas_json(report));
  print_text(options.json ? formulas_json(report) : formulas_text(report));
  return code;
}

void check_plot(const ExplainOptions& options, const Inputs& inputs) {
  if (options.plot.empty()) {
    if ((options.curve.budget_bytes || !options.curve.axis.empty()) && !options.json)
      throw UsageError("--budget and --axis are of the plot: add --plot FILE, or --json for its data");
    return;
  }
  if (options.json || !options.emit.empty() || !options.against.empty())
    throw UsageError("--plot draws the formulas: leave out --json, --emit and --against");
  const std::string ending = std::filesystem::path(options.plot).extension().string();
  if (ending != ".png" && ending != ".svg" && ending != ".pdf")
    throw UsageError(fmt::format("--plot {}: unknown format: write a file that ends with .png, .svg or .pdf",
                                 options.plot));
  remove_earlier_outputs({options.plot}, inputs.runs);
}

ExitCode explain_inputs(ExplainOptions& options) {
  const Inputs inputs = split_inputs(options.inputs);
  options.curve.at = parse_axes(options.at);
  check_plot(options, inputs);
  if (!options.emit.empty()) {
    if (options.json || !options.against.empty())
      throw UsageError("--emit prints an estimator: leave out --json and --against");
    options.emitted.form = parse_emit_form(options.emit);
    options.emitted.source = fmt::format("{}", fmt::join(options.inputs, " "));
  }
  if (inputs.runs.empty()) return explain_run(options, record_shapes(inputs, options), inputs);
  const Run run = read_explained_run(inputs.runs.front());
  if (inputs.runs.size() == 1) return explain_run(options, run, inputs);

  if (options.json || !options.emit.empty() || !options.against.empty() || !options.plot.empty())
    throw UsageError("two run files are compared as text: leave out --json, --emit, --against and --plot");
  const Run next = read_explained_run(inputs.runs.back());
  const auto old_formulas = explain_cases(group_cases(run, inputs.fixed));
  const auto new_formulas = explain_cases(group_cases(next, inputs.fixed));
  bool is_changed = false;
  print_text(changed_formulas_text(old_formulas, new_formulas, is_changed));
  return is_changed ? ExitCode::verdict : ExitCode::clean;
}

/// Reads `2%` or `2`.
int parse_margin(const std::string& text) {
  int percent = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, percent);
  const bool is_percent =
      read.ec == std::errc() && (read.ptr == end || std::string_view(read.ptr, end) == "%");
  if (!is_percent || percent < 0 || percent > 1000)
    throw UsageError(fmt::format("'{}' is no margin: write a percentage such as 2%", text));
  return percent;
}

}  // namespace

void add_explain_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<ExplainOptions>();
  CLI::App* const command = app.add_subcommand("explain", "Find the formulas of allocations and of the peak");
  command
      ->add_option("INPUT", options->inputs,
                   "A run file of `run --sequences`, or two to see what changed; AXIS=VALUE takes only cases "
                   "with this value")
      ->required();
  command
      ->add_option("--against", options->against,
                   "Explain why this estimator is wrong: own, a name, python:package.module:function or "
                   "command:PROGRAM")
      ->type_name("ESTIMATOR");
  command
      ->add_option("--at", options->at,
                   "Print bytes at this shape, such as ny=4096,nx=4096. Default: the largest recorded")
      ->type_name("AXIS=VALUE");
  command->add_option("--emit", options->emit, "Print the formulas as an estimator or a page")
      ->type_name("{python,cpp,latex,markdown}");
  add_parsed_option(
      *command, "--margin",
      [options = options.get()](const std::string& text) {
        options->emitted.margin_percent = parse_margin(text);
      },
      "Add this to the bytes of an emitted estimator, such as 2%")
      ->type_name("PERCENT");
  add_file_option(*command, "--plot", options->plot,
                  "Draw memory against shape by formula: a .png, .svg or .pdf file");
  command->add_option("--axis", options->curve.axis, "Draw against this axis. Default: the first that grows")
      ->type_name("AXIS");
  add_size_option(*command, "--budget", options->curve.budget_bytes,
                  "Draw up to the shape that needs this memory, such as 16GiB, and mark it");
  command->add_option("--slice-axis", options->emitted.slice_axis, "The axis of slices. Default: n")
      ->type_name("AXIS");
  command->add_option("--form", options->call.form, "Call the estimator of --against in this form")
      ->type_name("{documented,direct,module,iterative}")
      ->capture_default_str();
  command
      ->add_option("--filter", options->sweep.selection.filter,
                   "Explain only cases of suites whose names match")
      ->type_name(value_name::kRegex);
  command->add_option("--backend", options->sweep.selection.backend, "Record on this backend")
      ->type_name(value_name::kBackend);
  command
      ->add_option("--device", options->sweep.selection.device,
                   "Record on this device: its index or a part of its name")
      ->type_name(value_name::kDevice);
  command
      ->add_option("--worker", options->sweep.worker,
                   "Ask this worker for the terms of its estimators. Default: peakmark-bench")
      ->type_name(value_name::kProgram);
  command->add_flag("--json", options->json, "Print the formulas as JSON");
  set_help(
      *command,
      {.exit_codes = {{"0", "every byte has a formula, and the estimator is exact"},
                      {"1", "an estimator is wrong, bytes have no formula, or formulas changed"},
                      {"2", "wrong usage, or a run that cannot be read or has no allocation sequences"}}});
  command->callback([options, &result] { result.code = explain_inputs(*options); });
}

}  // namespace peakmark::cli
