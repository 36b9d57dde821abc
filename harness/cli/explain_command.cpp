#include <fmt/format.h>

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
#include "explain/emit.hpp"
#include "explain/reports.hpp"
#include "runfile/run_file.hpp"
#include "supervise/estimate_question.hpp"
#include "supervise/external_estimates.hpp"
#include "supervise/run_workers.hpp"

namespace peakmark::cli {
namespace {

struct ExplainOptions {
  std::vector<std::string> inputs;  ///< run files, and AXIS=VALUE
  std::string against;
  ExternalEstimator call;  ///< if `against` is python:… or command:…
  std::string at;
  std::string emit;
  EmitOptions emitted;
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

/// What is explained.
struct Inputs {
  std::vector<std::filesystem::path> runs;
  FixedAxes fixed;
};

Inputs split_inputs(const std::vector<std::string>& texts) {
  Inputs inputs;
  for (const std::string& text : texts) {
    if (text.find('=') != std::string::npos && !std::filesystem::exists(text)) {
      inputs.fixed.push_back(parse_axis(text));
    } else {
      inputs.runs.emplace_back(text);
    }
  }
  if (inputs.runs.empty()) throw UsageError("no run file: write `peakmark explain run.json`");
  if (inputs.runs.size() > 2) throw UsageError("too many run files: write one, or two to see what changed");
  return inputs;
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
  print_text(options.json ? formulas_json(report) : formulas_text(report));
  return code;
}

ExitCode explain_inputs(ExplainOptions& options) {
  const Inputs inputs = split_inputs(options.inputs);
  if (!options.emit.empty()) {
    if (options.json || !options.against.empty())
      throw UsageError("--emit prints an estimator: leave out --json and --against");
    options.emitted.form = parse_emit_form(options.emit);
    options.emitted.source = inputs.runs.front().filename().string();
  }
  const Run run = read_explained_run(inputs.runs.front());
  if (inputs.runs.size() == 1) return explain_run(options, run, inputs);

  if (options.json || !options.emit.empty() || !options.against.empty())
    throw UsageError("two run files are compared as text: leave out --json, --emit and --against");
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
  CLI::App* const command =
      app.add_subcommand("explain", "Find the formulas of allocations and of the peak in a run");
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
  command->add_option("--slice-axis", options->emitted.slice_axis, "The axis of slices. Default: n")
      ->type_name("AXIS");
  command->add_option("--form", options->call.form, "Call the estimator of --against in this form")
      ->type_name("{documented,direct,module,iterative}")
      ->capture_default_str();
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
