#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/size.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "cli/command.hpp"
#include "cli/help.hpp"
#include "cli/input_output.hpp"
#include "cli/options.hpp"
#include "subprocess/processes.hpp"
#include "subprocess/signals.hpp"
#include "supervise/estimate_question.hpp"
#include "supervise/external_estimates.hpp"
#include "supervise/recorded_estimates.hpp"
#include "supervise/run_workers.hpp"
#include "supervise/worker_program.hpp"
#include "sweep/suite_document.hpp"

namespace peakmark::cli {
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
  std::optional<double> seconds;  ///< for an answer
  bool json = false;
};

std::string bytes_text(std::optional<Size> bytes) {
  return bytes ? fmt::format("{} ({})", format_size(*bytes), quantity(*bytes, "byte")) : "unknown";
}

std::string reply_text(const std::string& title, const std::string& slices, const EstimateReply& reply) {
  std::string text = title + "\n";
  text += fmt::format("  {}: {}\n", slices, reply.slices ? std::to_string(*reply.slices) : "unknown");
  text += fmt::format("  bytes: {}\n", bytes_text(reply.bytes));
  text += fmt::format("  output: {}\n", reply.dtype.value_or("unknown"));
  if (!reply.output_dimensions.empty()) {
    text += fmt::format("  output dimensions: {}\n", fmt::join(reply.output_dimensions, ", "));
  }
  if (!reply.padding.empty())
    text += fmt::format("  slices before and after: {}\n", fmt::join(reply.padding, ", "));
  if (reply.terms.empty()) return text;
  text += "  terms (bytes per slice, fixed bytes):\n";
  std::size_t width = 0;
  for (const EstimateTerm& term : reply.terms) width = std::max(width, term.name.size());
  for (const EstimateTerm& term : reply.terms) {
    text +=
        fmt::format("    {:<{}}  {:>16}  {:>16}\n", term.name, width, term.per_slice_bytes, term.fixed_bytes);
  }
  return text;
}

void print_reply(const EstimateOptions& options, const std::string& title, const std::string& slices,
                 const std::string& parameters, const EstimateReply& reply) {
  if (reply.error) throw UsageError(title + ": " + *reply.error);
  print_text(options.json ? estimate_json(title, parameters, options.available, reply)
                          : reply_text(title, slices, reply));
}

/// Returns how many slices fit into `available` and their bytes; without `available`, the bytes of the
/// question.
EstimateReply ask_for_reply(const ExternalEstimator& estimator, EstimatorQuestion question,
                            std::optional<Size> available, const std::string& arguments,
                            std::optional<double> seconds) {
  const OrphanGuard guard;
  const SignalWatch signals;
  EstimatorWarnings warnings(
      [](const std::string& warning) { print_message(stderr, "warning: {}\n", warning); });
  const AskLimits limits{signals.descriptor(), std::nullopt, seconds, "--seconds", &warnings};
  ExternalAnswer answer = ask_external(estimator, question, available, arguments, limits);
  if (available && answer.slices) {
    question.slices = *answer.slices;
    answer.bytes = 0;
    if (question.slices > 0) {
      ExternalAnswer need = ask_external(estimator, question, std::nullopt, arguments, limits);
      answer.bytes = need.bytes;
      if (need.error) answer.error = std::move(need.error);
    }
  }
  EstimateReply reply;
  reply.slices = available ? answer.slices : question.slices;
  reply.bytes = answer.bytes;
  reply.dtype = answer.dtype;
  reply.terms = answer.terms;
  reply.output_dimensions = answer.output_dimensions;
  reply.padding = answer.padding;
  reply.error = answer.error;
  return reply;
}

/// `python:package.module` in httomo's form: all methods of the module.
bool is_module_of_methods(const EstimateOptions& options) {
  constexpr std::string_view kPython = "python:";
  return options.call.form == "httomo" && options.variant.starts_with(kPython) &&
         options.variant.size() > kPython.size() &&
         options.variant.find(':', kPython.size()) == std::string::npos;
}

std::string methods_table(const std::vector<MethodReply>& replies) {
  using enum TextTable::Align;
  TextTable table({{"method"}, {"slices", right}, {"bytes", right}, {""}});
  std::string errors;
  for (const auto& [method, reply] : replies) {
    const bool failed = reply.error.has_value();
    table.add({method, failed || !reply.slices ? "–" : std::to_string(*reply.slices),
               failed || !reply.bytes ? "–" : std::to_string(*reply.bytes),
               failed || !reply.bytes ? "" : format_size(*reply.bytes)});
    if (failed) errors += fmt::format("{}: {}\n", method, *reply.error);
  }
  return table.text() + (errors.empty() ? "" : "\n" + plain_text(errors));
}

/// `estimate python:package.module[:function] --dimensions 10,20 …`. Returns usage if one of several methods
/// does not answer.
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
    print_reply(options, options.variant, "slices", arguments,
                ask_for_reply(estimator, question, options.available, arguments, options.seconds));
    return ExitCode::clean;
  }
  std::vector<MethodReply> replies;
  for (const std::string& method :
       list_methods(estimator, {-1, std::nullopt, options.seconds, "--seconds"})) {
    estimator.call = options.variant + ":" + method;
    replies.push_back(
        {method, ask_for_reply(estimator, question, options.available, arguments, options.seconds)});
  }
  print_text(options.json ? methods_json(options.variant, arguments, options.available, replies)
                          : methods_table(replies));
  const bool has_error =
      std::ranges::any_of(replies, [](const MethodReply& one) { return one.reply.error.has_value(); });
  return has_error ? ExitCode::usage : ExitCode::clean;
}

std::string ratio_text(const Observation& observation) {
  const std::optional<Size> bytes = observation.estimate->bytes_estimated;
  if (!bytes || *bytes <= 0) return "–";
  return fmt::format("{:.3f}",
                     static_cast<double>(*observation.requested_peak_bytes) / static_cast<double>(*bytes));
}

/// Returns a row for each case that was asked about, and the errors of estimators below the table.
std::string recorded_table(const std::vector<const Observation*>& asked) {
  using enum TextTable::Align;
  TextTable table({{"case"},
                   {"estimator"},
                   {"peak", right},
                   {"slices", right},
                   {"estimate", right},
                   {"peak / estimate", right}});
  std::string errors;
  for (const Observation* const one : asked) {
    const std::string peak = std::to_string(*one->requested_peak_bytes);
    if (!one->estimate) {
      table.add({one->case_name, "none", peak, "–", "–", "–"});
      continue;
    }
    const EstimateObservation& estimate = *one->estimate;
    const std::string slices =
        estimate.slices_estimated ? std::to_string(*estimate.slices_estimated) : std::string("–");
    table.add({one->case_name, estimate.estimator, peak, fmt::format("{}/{}", slices, estimate.slices_used),
               estimate.bytes_estimated ? std::to_string(*estimate.bytes_estimated) : "–", ratio_text(*one)});
    if (estimate.error) errors += fmt::format("{}: {}\n", one->case_name, *estimate.error);
  }
  return table.text() + (errors.empty() ? "" : "\n" + plain_text(errors));
}

/// `estimate --run RUN [VARIANT|CALL]`. Returns usage if an estimator does not answer.
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
  print_text(options.json ? recorded_estimates_json(asked) : recorded_table(asked));
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
    print_reply(options, variant.name, slices, to_arguments(parameters),
                ask_for_reply(*estimator, make_question(*estimator, variant, parameters), options.available,
                              "", options.seconds));
  } else if (vocabulary.program(variant.name) != nullptr) {
    throw UsageError(variant.name +
                     (named.empty() ? " has no estimator" : ": no suite has an estimator '" + named + "'"));
  } else {
    const OrphanGuard guard;
    const SignalWatch signals;
    const std::string question = estimate_question(variant, parameters, options.available, options.estimator);
    print_reply(options, variant.name, slices, to_arguments(parameters),
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
  // A call describes itself; about a run, suites and a worker describe its variants.
  const auto of_variants = [options](CLI::Option* option) {
    return only_when(option, "with the name of a variant, or with --run",
                     [options] { return options->run || !is_estimator_call(options->variant); });
  };
  of_variants(
      command->add_option("--suite", options->suites, "Use the programs and estimators of these suites"))
      ->type_name(value_name::kSuite);
  // With --run, all this is recorded.
  const auto is_recorded = [run](CLI::Option* option) { return option->excludes(run); };
  // The name is without '=', which CLI11 2.4 refuses in one.
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
  of_variants(
      command->add_option("--worker", options->worker,
                          "Use the variants of this worker. Default: the suite's worker, or peakmark-bench"))
      ->type_name(value_name::kProgram);
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
