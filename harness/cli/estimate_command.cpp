#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>

#include "base/report.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "measure/estimate/external_estimates.hpp"
#include "measure/estimate/worker_estimates.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/supervise/recorded_estimates.hpp"
#include "measure/supervise/run_workers.hpp"
#include "measure/supervise/worker_program.hpp"
#include "measure/sweep/suite_document.hpp"
#include "record/subprocess/processes.hpp"
#include "record/subprocess/signals.hpp"

namespace peakmark::cli {

using json_fields::Json;

namespace {

/// Checks a count. CLI11's check of a range would print a limit of 309 digits.
const CLI::Validator kCount(
    [](const std::string& text) -> std::string {
      const bool is_count = parse_number<Size>(text).value_or(0) >= 1;
      return is_count ? "" : fmt::format("'{}' is not a count: write a whole number, 1 or more", text);
    },
    "", "");

struct EstimateOptions {
  std::string variant;
  std::vector<std::filesystem::path> suites;
  ExternalEstimator call;  ///< if `variant` is python:… or command:…
  std::vector<Size> dimensions;
  std::string dtype = "float32";
  int slice_dimension = 0;
  std::optional<Size> slices;
  std::vector<std::string> parameters;
  std::optional<Size> available;
  std::optional<std::string> estimator;
  std::optional<std::string> worker;
  std::optional<std::filesystem::path> run;
  std::optional<double> seconds;  ///< limit for an answer
  bool json = false;
};

/// Returns the keyword arguments of a Python function from `key=value` texts, as a JSON object. A value that
/// is valid JSON (3, 0.5, true, null, [3, 3]) is read as JSON, any other as a string. Throws UsageError for a
/// text without `=`.
std::string parse_arguments(const std::vector<std::string>& texts) {
  Json arguments = Json::object();
  for (const std::string& text : texts) {
    const auto [name, value] = split_key_value(text);
    if (arguments.contains(name)) throw UsageError("'" + name + "' is given twice");
    arguments[name] = Json::accept(value) ? Json::parse(value) : Json(value);
  }
  return json_fields::one_line(arguments);
}

Json begin_estimate(const std::string& variant, const std::string& parameters,
                    std::optional<Size> available_bytes) {
  Json json = json_fields::begin(format::kEstimate);
  json.update(Json{{"variant", variant},
                   {"parameters", Json::parse(parameters)},
                   {"available_bytes", json_fields::or_null(available_bytes)}});
  return json;
}

/// Returns a number of an answer; null if the estimator failed.
auto unless_failed(std::optional<Size> EstimateAnswer::*number) {
  return [number](const EstimateAnswer& answer) { return answer.error ? std::nullopt : answer.*number; };
}

Fields<EstimateAnswer> answer_fields() {
  return {{"slices", As::number, unless_failed(&EstimateAnswer::slices), "slices"},
          {"bytes", As::number, unless_failed(&EstimateAnswer::bytes), "bytes"},
          {"", As::size, unless_failed(&EstimateAnswer::bytes), "", ""},
          {"", As::hidden, &EstimateAnswer::dtype, "dtype"},
          {"", As::hidden,
           [](const EstimateAnswer& answer) {
             return answer.terms.empty() ? Json() : json_fields::to_json(answer.terms);
           },
           "terms"},
          {"", As::hidden, unless_empty(&EstimateAnswer::output_dimensions), "output_dimensions"},
          {"", As::hidden, unless_empty(&EstimateAnswer::padding), "padding"}};
}

/// `parameters`: a JSON object.
std::string estimate_json(const std::string& variant, const std::string& parameters,
                          std::optional<Size> available_bytes, const EstimateAnswer& answer) {
  Json json = begin_estimate(variant, parameters, available_bytes);
  json.update(row_json(answer_fields(), answer));
  return json_fields::pretty(json);
}

/// The answer for a method of a module of httomo-backends.
struct MethodAnswer {
  std::string method;
  EstimateAnswer answer;
};

Fields<MethodAnswer> method_fields() {
  Fields<MethodAnswer> fields = part_fields(&MethodAnswer::answer, answer_fields());
  fields.insert(fields.begin(), {"method", As::text, &MethodAnswer::method, "method"});
  fields.emplace_back(
      "", As::hidden, [](const MethodAnswer& one) { return one.answer.error; }, "error");
  return fields;
}

std::string methods_json(const std::string& module, const std::string& parameters,
                         std::optional<Size> available_bytes, const std::vector<MethodAnswer>& answers) {
  Json json = begin_estimate(module, parameters, available_bytes);
  json["methods"] = rows_json(method_fields(), answers);
  return json_fields::pretty(json);
}

std::string answer_text(const std::string& title, const std::string& slices, const EstimateAnswer& answer) {
  std::string text = title + "\n";
  text += fmt::format("  {}: {}\n", slices, answer.slices ? std::to_string(*answer.slices) : "unknown");
  text += fmt::format("  bytes: {}\n", answer.bytes ? size_with_bytes(*answer.bytes) : "unknown");
  text += fmt::format("  output: {}\n", answer.dtype.value_or("unknown"));
  if (!answer.output_dimensions.empty()) {
    text += fmt::format("  output dimensions: {}\n", fmt::join(answer.output_dimensions, ", "));
  }
  if (!answer.padding.empty())
    text += fmt::format("  slices before and after: {}\n", fmt::join(answer.padding, ", "));
  if (answer.terms.empty()) return text;
  const Fields<EstimateTerm> fields{{"term", As::text, &EstimateTerm::name},
                                    {"bytes per slice", As::number, &EstimateTerm::per_slice_bytes},
                                    {"fixed bytes", As::number, &EstimateTerm::fixed_bytes}};
  return text + rows_text(fields, answer.terms, answer.terms.size(), "  ");
}

void print_answer(const EstimateOptions& options, const std::string& title, const std::string& slices,
                  const std::string& parameters, const EstimateAnswer& answer) {
  if (answer.error) throw UsageError(title + ": " + *answer.error);
  print_text(options.json ? estimate_json(title, parameters, options.available, answer)
                          : answer_text(title, slices, answer));
}

/// Returns how many slices fit into `available` and their bytes; without `available`, the bytes of the
/// question.
EstimateAnswer ask_for_answer(const ExternalEstimator& estimator, EstimatorQuestion question,
                              std::optional<Size> available, const std::string& arguments,
                              std::optional<double> seconds) {
  const OrphanGuard guard;
  const SignalWatch signals;
  EstimatorWarnings warnings(
      [](const std::string& warning) { print_message(stderr, "warning: {}\n", warning); });
  const AskLimits limits{signals.descriptor(), std::nullopt, seconds, "--seconds", &warnings};
  EstimateAnswer answer = ask_external(estimator, question, available, arguments, limits);
  if (available && answer.slices) {
    question.slices = *answer.slices;
    answer.bytes = 0;
    if (question.slices > 0) {
      EstimateAnswer need = ask_external(estimator, question, std::nullopt, arguments, limits);
      answer.bytes = need.bytes;
      if (need.error) answer.error = std::move(need.error);
    }
  }
  if (!available) answer.slices = question.slices;
  return answer;
}

/// Returns true for `python:package.module` in httomo's form: all methods of the module.
bool is_module_of_methods(const EstimateOptions& options) {
  constexpr std::string_view kPython = "python:";
  return options.call.form == "httomo" && options.variant.starts_with(kPython) &&
         options.variant.size() > kPython.size() &&
         options.variant.find(':', kPython.size()) == std::string::npos;
}

std::string methods_table(const std::vector<MethodAnswer>& answers) {
  std::string errors;
  for (const auto& [method, answer] : answers) {
    if (answer.error) errors += fmt::format("{}: {}\n", method, *answer.error);
  }
  return rows_text(method_fields(), answers) + (errors.empty() ? "" : "\n" + plain_text(errors));
}

/// Implements `estimate python:package.module[:function] --dimensions 10,20 …`. Returns usage if one of
/// several methods does not answer.
ExitCode estimate_by_call(const EstimateOptions& options) {
  ExternalEstimator estimator = options.call;
  estimator.call = options.variant;
  if (!is_module_of_methods(options)) check_estimator_call(estimator.call);
  check_estimator_form(estimator.form);
  estimator.suite_folder = std::filesystem::current_path();
  if (options.dimensions.size() != 2) {
    throw UsageError("the other two dimensions of the input are missing: write --dimensions 2160,2560");
  }
  for (const Size dimension : options.dimensions) {
    if (dimension < 1)
      throw UsageError(fmt::format("--dimensions: {} is not a dimension: write 1 or more", dimension));
  }
  check_estimator_dtype(options.dtype);
  for (const std::string& function : {estimator.padding, estimator.output_dimensions}) {
    if (!function.empty()) check_function_beside(function);
  }
  if (!options.available && !options.slices) {
    throw UsageError(
        "nothing to estimate: write --available 16GiB (slices that fit) or --slices 20 (bytes that they "
        "need)");
  }
  EstimatorQuestion question;
  question.slice_dimension = options.slice_dimension;
  question.slices = options.slices.value_or(1);
  question.other_dimensions = options.dimensions;
  question.dtype = options.dtype;
  const std::string arguments = parse_arguments(options.parameters);
  if (!is_module_of_methods(options)) {
    print_answer(options, options.variant, "slices", arguments,
                 ask_for_answer(estimator, question, options.available, arguments, options.seconds));
    return ExitCode::clean;
  }
  std::vector<MethodAnswer> answers;
  for (const std::string& method :
       list_methods(estimator, {-1, std::nullopt, options.seconds, "--seconds"})) {
    estimator.call = options.variant + ":" + method;
    answers.push_back(
        {method, ask_for_answer(estimator, question, options.available, arguments, options.seconds)});
  }
  print_text(options.json ? methods_json(options.variant, arguments, options.available, answers)
                          : methods_table(answers));
  const bool has_error =
      std::ranges::any_of(answers, [](const MethodAnswer& one) { return one.answer.error.has_value(); });
  return has_error ? ExitCode::usage : ExitCode::clean;
}

/// Returns a value of the estimate of an observation; null if no estimator was asked.
template <typename Get>
auto of_estimate(Get get) {
  return [get](const Observation& one) {
    return one.estimate ? to_fact(std::invoke(get, *one.estimate)) : Json();
  };
}

Fields<Observation> recorded_fields() {
  const auto slices = [](const EstimateObservation& estimate) {
    return fmt::format("{}/{}", to_text(to_fact(estimate.slices_estimated), As::number),
                       estimate.slices_used);
  };
  const auto ratio = [](const Observation& one) -> std::optional<double> {
    const Size bytes = one.estimate ? one.estimate->bytes_estimated.value_or(0) : 0;
    if (bytes <= 0) return std::nullopt;
    return static_cast<double>(*one.requested_peak_bytes) / static_cast<double>(bytes);
  };
  return {{"case", As::text, &Observation::case_name, "case"},
          {"estimator", As::text, of_estimate(&EstimateObservation::estimator), "", "none"},
          {"peak", As::number, &Observation::requested_peak_bytes, "requested_peak_bytes"},
          {"slices", As::figure, of_estimate(slices)},
          {"estimate", As::number, of_estimate(&EstimateObservation::bytes_estimated)},
          {"peak / estimate", As::ratio, ratio},
          {"", As::hidden, [](const Observation& one) { return json_fields::to_json(one.estimate); },
           "estimate"}};
}

/// Returns a row for each case that was asked about, and the errors of estimators below them.
std::string recorded_table(const std::vector<const Observation*>& asked) {
  std::string errors;
  for (const Observation* const one : asked) {
    if (one->estimate && one->estimate->error)
      errors += fmt::format("{}: {}\n", one->case_name, *one->estimate->error);
  }
  return rows_text(recorded_fields(), asked) + (errors.empty() ? "" : "\n" + plain_text(errors));
}

std::string recorded_json(const std::vector<const Observation*>& asked) {
  Json json = json_fields::begin(format::kEstimate);
  json["cases"] = rows_json(recorded_fields(), asked);
  return json_fields::pretty(json);
}

/// Implements `estimate --run RUN [VARIANT|CALL]`. Returns usage if an estimator does not answer.
ExitCode estimate_recorded(const EstimateOptions& options) {
  RecordedQuestion question{{}, options.call, options.suites, options.worker, {}, {}, options.seconds};
  if (is_estimator_call(options.variant)) {
    question.estimator = options.variant;
  } else {
    question.variant = options.variant;
    question.estimator = options.estimator.value_or("");
  }
  Run run = read_run(*options.run);
  if (ask_about_run(run, question) == 0) {
    throw UsageError(options.run->string() + ": no case was measured; there is no peak to ask about");
  }
  std::vector<const Observation*> asked;
  for (const Observation& one : run.observations) {
    const bool is_selected = question.variant.empty() || question.variant == one.variant;
    if (is_selected && one.outcome == Outcome::ok && one.requested_peak_bytes) asked.push_back(&one);
  }
  print_text(options.json ? recorded_json(asked) : recorded_table(asked));
  const bool has_error = std::ranges::any_of(
      asked, [](const Observation* one) { return one->estimate && one->estimate->error; });
  return has_error ? ExitCode::usage : ExitCode::clean;
}

ExitCode estimate(const EstimateOptions& options) {
  if (options.variant.empty())
    throw UsageError("nothing to ask: name a VARIANT, your estimator, or a run with --run");
  if (is_estimator_call(options.variant)) return estimate_by_call(options);
  SweepOptions sweep;
  sweep.worker = options.worker;
  sweep.selection.suites = options.suites;
  find_worker_here(sweep, {options.variant});
  const std::filesystem::path worker = find_worker_for(sweep);
  std::vector<SuiteDocument> documents;
  for (const auto& suite : options.suites) documents.push_back(read_suite_document(suite));
  const Vocabulary vocabulary = gather_vocabulary(documents, describe_worker(worker));
  const VariantDescription& variant = vocabulary.description.known_variant(options.variant);
  const Parameters parameters = parse_parameters(variant, options.parameters);
  const std::string slices = "slices along " + variant.slice_axis;
  const std::string named =
      options.estimator.value_or(variant.estimators.empty() ? "" : variant.estimators.front().name);
  if (const auto estimator = vocabulary.estimator(named, variant.name)) {
    print_answer(options, variant.name, slices, json_fields::one_line(json_fields::to_json(parameters)),
                 ask_for_answer(*estimator, make_question(*estimator, variant, parameters), options.available,
                                "", options.seconds));
  } else if (vocabulary.program(variant.name) != nullptr) {
    throw UsageError(variant.name +
                     (named.empty() ? " has no estimator" : ": no suite has an estimator '" + named + "'"));
  } else {
    const OrphanGuard guard;
    const SignalWatch signals;
    const std::string question = estimate_question(variant, parameters, options.available, options.estimator);
    print_answer(options, variant.name, slices, json_fields::one_line(json_fields::to_json(parameters)),
                 ask_estimator(worker, named, question,
                               {signals.descriptor(), std::nullopt, options.seconds, "--seconds"}));
  }
  return ExitCode::clean;
}

}  // namespace

void add_estimate_command(CLI::App& app, Result& result) {
  const auto options = std::make_shared<EstimateOptions>();
  CLI::App* const command = app.add_subcommand("estimate", "Print what the estimator of a variant answers");
  command->add_option(
      "VARIANT", options->variant,
      "A variant such as padding/coords1d, or your estimator: python:package.module:function or "
      "command:PROGRAM; with --form httomo, python:package.module asks all methods in it. Optional with "
      "--run");
  CLI::Option* const run =
      command
          ->add_option("--run", options->run,
                       "Ask about the cases of this run file, with their recorded peaks as available memory")
          ->type_name(value_name::kRun);
  // A call describes itself; for a run, suites and a worker describe its variants.
  const auto of_variants = [options](CLI::Option* option) {
    return only_when(option, "with the name of a variant, or with --run",
                     [options] { return options->run || !is_estimator_call(options->variant); });
  };
  of_variants(
      command->add_option("--suite", options->suites, "Use the programs and estimators of these suites"))
      ->type_name(value_name::kSuite);
  // With --run, all of this comes from the run.
  const auto is_recorded = [run](CLI::Option* option) { return option->excludes(run); };
  // The name has no '=', because CLI11 2.4 refuses it.
  is_recorded(command->add_option("KEY", options->parameters,
                                  "Axes such as n=20; others have their default. For your estimator: its "
                                  "parameters, as JSON or text"))
      ->option_text("KEY=VALUE");
  CLI::Option* const available = is_recorded(add_size_option(
      *command, "--available", options->available,
      "Print how many slices fit into this memory, such as 16GiB. Default: print the bytes needed"));
  only_when(command->add_option("--estimator", options->estimator, "Use another estimator of the variant"),
            "without python:… and command:…", [options] { return !is_estimator_call(options->variant); })
      ->type_name("NAME");
  of_variants(add_worker_option(*command, options->worker));
  command->add_flag("--json", options->json, "Print the answer as JSON");
  const auto of_yours = [options](CLI::Option* option) {
    return only_when(option->group("Only with python:… or command:…"), "with python:… or command:…",
                     [options] { return is_estimator_call(options->variant); });
  };
  of_yours(add_form_option(*command, options->call));
  is_recorded(of_yours(command->add_option("--dimensions", options->dimensions,
                                           "The other two dimensions of the input, such as 2160,2560")))
      ->type_name("N,N")
      ->delimiter(',');
  of_yours(add_dimensions_option(*command, options->call))->needs(run);
  is_recorded(of_yours(command->add_option("--dtype", options->dtype,
                                           "The element type of the input, as numpy calls it")))
      ->type_name("DTYPE")
      ->capture_default_str();
  is_recorded(of_yours(command->add_option("--slice-dimension", options->slice_dimension,
                                           "The dimension of slices. 0: projections, 1: sinograms")))
      ->check(CLI::Range(0, 1))
      ->capture_default_str();
  is_recorded(of_yours(command->add_option("--slices", options->slices,
                                           "Print the bytes that this many slices need")))
      ->check(kCount)
      ->excludes(available);
  of_yours(command->add_option("--padding", options->call.padding,
                               "Call this function for the padding: module:function"))
      ->type_name("FUNCTION");
  of_yours(command->add_option("--output-dimensions", options->call.output_dimensions,
                               "Call this function for the output's dimensions: module:function"))
      ->type_name("FUNCTION");
  add_python_option(*command, options->call, [options] {
    return options->variant;
  })->group("Only with python:… or command:…");
  add_answer_limit_option(*command, options->seconds);
  set_help(*command,
           {.exit_codes = {{"0", "clean"}, {"2", "wrong usage, or an estimator that does not answer"}}});
  command->callback(
      [options, &result] { result.code = options->run ? estimate_recorded(*options) : estimate(*options); });
}

}  // namespace peakmark::cli
