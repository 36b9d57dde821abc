#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>

#include "base/size.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/standard_output.hpp"
#include "cli/value_name.hpp"
#include "subprocess/processes.hpp"
#include "subprocess/signals.hpp"
#include "supervise/estimate_question.hpp"
#include "supervise/external_estimates.hpp"
#include "supervise/run_workers.hpp"
#include "supervise/worker_program.hpp"
#include "sweep/nearest_word.hpp"
#include "sweep/suite_document.hpp"

namespace peakmark::cli {
namespace {

/// CLI11's own tells of a number with 309 digits.
const CLI::Validator kCount(
    [](const std::string& text) -> std::string {
      Size count = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
      const bool is_one = error == std::errc() && end == text.data() + text.size() && count >= 1;
      return is_one ? "" : fmt::format("write how many, a whole number from 1 on, not {}", text);
    },
    "", "");

struct EstimateOptions {
  std::string variant;
  std::vector<std::filesystem::path> suites;
  ExternalEstimator call;  ///< what is asked where the variant is a call
  std::vector<Size> dimensions;
  std::string dtype = "float32";
  int slice_dimension = 0;
  std::optional<Size> slices;
  std::vector<std::string> parameters;
  std::optional<std::string> available;
  std::optional<std::string> estimator;
  std::optional<std::string> worker;
  bool json = false;
};

const VariantDescription& find_variant(const Description& description, const std::string& name) {
  if (const VariantDescription* variant = description.variant(name)) return *variant;
  throw UsageError("no variant '" + name + "'" + suggest_word(name, description.variant_names()));
}

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
  text += "  terms, bytes a slice and once:\n";
  std::size_t width = 0;
  for (const EstimateTerm& term : reply.terms) width = std::max(width, term.name.size());
  for (const EstimateTerm& term : reply.terms) {
    text +=
        fmt::format("    {:<{}}  {:>16}  {:>16}\n", term.name, width, term.per_slice_bytes, term.fixed_bytes);
  }
  return text;
}

std::optional<Size> available_of(const EstimateOptions& options) {
  if (!options.available) return std::nullopt;
  return parse_size(*options.available);
}

void tell(const EstimateOptions& options, const std::string& title, const std::string& slices,
          const std::string& parameters, const EstimateReply& reply) {
  if (reply.error) throw UsageError(title + ": " + *reply.error);
  print_text(options.json ? estimate_json(title, parameters, available_of(options), reply)
                          : reply_text(title, slices, reply));
}

/// What an estimator has started, in a session of its own even, ends with this object.
class LastingProcesses {
 public:
  LastingProcesses() { adopt_orphans(); }
  LastingProcesses(const LastingProcesses&) = delete;
  LastingProcesses& operator=(const LastingProcesses&) = delete;
  ~LastingProcesses() { end_orphans(); }
};

/// How many slices fit, and the bytes of these; without available bytes, those of the question.
EstimateReply ask_for_reply(const ExternalEstimator& estimator, EstimatorQuestion question,
                            std::optional<Size> available, const std::string& arguments) {
  const LastingProcesses none_outlives_the_answer;
  const SignalWatch signals;
  const AskLimits limits{signals.descriptor(), std::nullopt};
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
  reply.output_dimensions = answer.output_dimensions;
  reply.padding = answer.padding;
  reply.error = answer.error;
  return reply;
}

/// `estimate python:package.module:function --dimensions 10,20 …`
void estimate_by_call(const EstimateOptions& options) {
  ExternalEstimator estimator = options.call;
  estimator.call = options.variant;
  check_estimator_call(estimator.call);
  check_estimator_form(estimator.form);
  estimator.suite_folder = std::filesystem::current_path();
  if (options.dimensions.size() != 2) {
    throw UsageError("name the input's other two dimensions: --dimensions 2160,2560");
  }
  for (const Size dimension : options.dimensions) {
    if (dimension < 1) throw UsageError(fmt::format("--dimensions: each is 1 or more, not {}", dimension));
  }
  check_estimator_dtype(options.dtype);
  for (const std::string& function : {estimator.padding, estimator.output_dimensions}) {
    if (!function.empty()) check_function_beside(function);
  }
  if (!options.available && !options.slices) {
    throw UsageError(
        "ask something: --available 16GiB (how many slices fit?) or --slices 20 (how many bytes?)");
  }
  EstimatorQuestion question;
  question.slice_dimension = options.slice_dimension;
  question.slices = options.slices.value_or(1);
  question.other_dimensions = options.dimensions;
  question.dtype = options.dtype;
  const std::string arguments = parse_arguments(options.parameters);
  tell(options, options.variant, "slices", arguments,
       ask_for_reply(estimator, question, available_of(options), arguments));
}

void estimate(const EstimateOptions& options) {
  if (is_estimator_call(options.variant)) {
    estimate_by_call(options);
    return;
  }
  SweepOptions sweep;
  sweep.worker = options.worker;
  sweep.selection.suites = options.suites;
  const std::filesystem::path worker = find_worker_for(sweep);
  std::vector<SuiteDocument> documents;
  for (const auto& suite : options.suites) documents.push_back(read_suite_document(suite));
  const Vocabulary vocabulary = gather_vocabulary(documents, describe_worker(worker));
  const VariantDescription& variant = find_variant(vocabulary.description, options.variant);
  const Parameters parameters = parse_parameters(variant, options.parameters);
  const std::string slices = "slices along " + variant.slice_axis;
  const std::string named =
      options.estimator.value_or(variant.estimators.empty() ? "" : variant.estimators.front().name);
  if (const auto estimator = vocabulary.estimator(named, variant.name)) {
    tell(
        options, variant.name, slices, to_arguments(parameters),
        ask_for_reply(*estimator, make_question(*estimator, variant, parameters), available_of(options), ""));
  } else if (vocabulary.program(variant.name) != nullptr) {
    throw UsageError(variant.name +
                     (named.empty() ? " has no estimator" : ": no suite has an estimator '" + named + "'"));
  } else {
    tell(options, variant.name, slices, to_arguments(parameters),
         ask_estimator(worker,
                       estimate_question(variant, parameters, available_of(options), options.estimator)));
  }
}

}  // namespace

void add_estimate_command(CLI::App& app, Result& /*result*/) {
  const auto options = std::make_shared<EstimateOptions>();
  CLI::App* const command = app.add_subcommand("estimate", "Ask a variant's estimator");
  command
      ->add_option("VARIANT", options->variant,
                   "Such as padding/coords1d; or an estimator of yours: python:package.module:function, "
                   "command:PROGRAM")
      ->required();
  command->add_option("--suite", options->suites, "Suites whose programs and estimators may be asked")
      ->type_name(value_name::kSuite);
  command->add_option("KEY=VALUE", options->parameters,
                      "Axes, such as n=20; the others at their default. Of an estimator of yours: its "
                      "parameters, as JSON or as text");
  command
      ->add_option("--available", options->available,
                   "Memory, such as 16GiB: how many slices fit? Without it: how many bytes are needed?")
      ->type_name(value_name::kSize);
  command->add_option("--estimator", options->estimator, "One of the variant's other estimators");
  command
      ->add_option("--worker", options->worker,
                   "Program that knows the variants; default: that of the suite, or "
                   "peakmark-bench")
      ->type_name(value_name::kProgram);
  command->add_flag("--json", options->json, "Print the answer as JSON");
  const char* const of_yours = "For an estimator of yours";
  command->add_option("--form", options->call.form, "documented, direct, module or iterative")
      ->type_name("{documented,direct,module,iterative}")
      ->capture_default_str()
      ->group(of_yours);
  command
      ->add_option("--dimensions", options->dimensions, "The input's dimensions beside the slices: 2160,2560")
      ->delimiter(',')
      ->group(of_yours);
  command->add_option("--dtype", options->dtype, "Of the input, as numpy calls it")
      ->capture_default_str()
      ->group(of_yours);
  command->add_option("--slice-dimension", options->slice_dimension, "0: projections, 1: sinograms")
      ->check(CLI::Range(0, 1))
      ->capture_default_str()
      ->group(of_yours);
  command->add_option("--slices", options->slices, "How many bytes do so many need?")
      ->check(kCount)
      ->group(of_yours);
  command->add_option("--padding", options->call.padding, "A function beside it: module:function")
      ->group(of_yours);
  command->add_option("--output-dimensions", options->call.output_dimensions, "Likewise")->group(of_yours);
  command->add_option("--python", options->call.python, "Its Python environment, as a suite names it")
      ->group(of_yours);
  command->add_option("--seconds", options->call.seconds, "That an answer may take")
      ->type_name(value_name::kSeconds)
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str()
      ->group(of_yours);
  command->footer("Exit code: 0 clean, 2 wrong usage, or an estimator that gives no answer.");
  command->callback([options] { estimate(*options); });
}

}  // namespace peakmark::cli
