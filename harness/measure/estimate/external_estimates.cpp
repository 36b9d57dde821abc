#include "measure/estimate/external_estimates.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/bisection.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark {

using json_fields::Json;

namespace {

std::string request_line(const ExternalEstimator& estimator, const EstimatorQuestion& question,
                         std::optional<Size> available_bytes, const std::string& parameters) {
  const std::string& call = estimator.call;
  return json_fields::one_line(
      {{"function", call.substr(call.find(':') + 1)},
       {"form", estimator.form},
       {"variant", json_fields::null_if_empty(question.variant)},
       {"slice_dimension", question.slice_dimension},
       {"other_dimensions", question.other_dimensions},
       {"dtype", question.dtype},
       {"parameters",
        parameters.empty() ? json_fields::to_json(question.parameters) : Json::parse(parameters)},
       {"available_bytes", json_fields::or_null(available_bytes)},
       {"slices", question.slices},
       {"output_dimensions", json_fields::null_if_empty(estimator.output_dimensions)},
       {"padding", json_fields::null_if_empty(estimator.padding)}});
}

PythonEnvironment python_of(const ExternalEstimator& estimator) {
  try {
    return find_python(estimator.python, estimator.suite_folder, estimator.python_made_by);
  } catch (const EnvironmentError& error) {
    throw NoEstimateError(NoEstimate::not_found, error.what());
  }
}

// Python puts the working folder first in its path, so files there would replace modules of its library. The
// option -P needs Python 3.11.
constexpr const char* kEstimatorsOfPython =
    "import sys\n"
    "sys.path[:] = [path for path in sys.path if path not in ('', '.')]\n"
    "from peakmark.estimators import main\n"
    "main()";

/// Returns the command that starts the estimator. Throws NoEstimateError if its program is missing.
WorkerCommand command_for(const ExternalEstimator& estimator, const std::string& request) {
  WorkerCommand command;
  command.environment = current_environment();
  // Its URL may contain a password, and no estimator needs it.
  std::erase_if(command.environment,
                [](const std::string& entry) { return entry.starts_with("PEAKMARK_HISTORY="); });
  command.input = request;
  const PythonEnvironment python = python_of(estimator);
  add_python(command.environment, python);
  std::vector<std::string> words;
  if (estimator.call.starts_with("python:")) {
    // -B: a module that changes twice in a second, as in a bisection, must not be read from its compiled
    // file.
    words = {python.interpreter.string(), "-B", "-c", kEstimatorsOfPython};
    if (const auto path = find_variable(command.environment, "PYTHONPATH")) {
      set_variable(command.environment, "PYTHONPATH", without_empty_folders(*path));
    }
    if (!estimator.suite_folder.empty())
      words.insert(words.end(), {"--path", estimator.suite_folder.string()});
  } else {
    words = estimator_command_words(estimator.call.substr(estimator.call.find(':') + 1));
  }
  // The path of a command is relative to the suite.
  std::string program = words.front();
  if (program.find('/') != std::string::npos) program = (estimator.suite_folder / program).string();
  const std::string failure = program_failure(command.environment, program);
  if (!failure.empty()) throw NoEstimateError(NoEstimate::not_found, program + ": " + failure);
  command.program = find_program(command.environment, program).value();
  command.arguments.assign(words.begin() + 1, words.end());
  return command;
}

constexpr std::string_view kEstimator = "estimator '";

std::string process_name(const ExternalEstimator& estimator) {
  return fmt::format("{}{}'", kEstimator, estimator.name.empty() ? estimator.call : estimator.name);
}

constexpr std::string_view kNotFound = "not_found: ";  // the beginning of a NoEstimateError

/// Returns a question about whether Python finds the functions of an estimator.
std::string find_line(const ExternalEstimator& estimator) {
  std::vector<std::string> functions{estimator.call.substr(estimator.call.find(':') + 1)};
  for (const std::string& function : {estimator.output_dimensions, estimator.padding}) {
    if (!function.empty()) functions.push_back(function);
  }
  return json_fields::one_line({{"find", functions}, {"form", estimator.form}});
}

[[noreturn]] void throw_not_found(const ExternalEstimator& estimator, const std::string& error) {
  const std::string text = fmt::format("{}: {}", process_name(estimator), error.substr(kNotFound.size()));
  if (!estimator.place.file.empty()) fail(estimator.place, text);
  throw UsageError(text);
}

EstimateAnswer failed(std::string error) {
  EstimateAnswer answer;
  answer.error = std::move(error);
  return answer;
}

/// Returns the maximum number of slices whose bytes fit. Bytes grow with the slices. Throws NoEstimateError
/// if they do not depend on them.
Size max_slices(const ExternalEstimator& estimator, const EstimatorQuestion& question, Size available) {
  const auto fits = [&](Size slices) {
    try {
      return formula_bytes(estimator, question, slices) <= available;
    } catch (const OverflowError&) {
      return false;
    }
  };
  constexpr Size kMaxSlices = Size{1} << 62;
  if (fits(kMaxSlices))
    throw NoEstimateError(NoEstimate::zero_per_slice, "its formula does not depend on the number of slices");
  return largest(fits);
}

EstimateAnswer answer_by_formula(const ExternalEstimator& estimator, const EstimatorQuestion& question,
                                 std::optional<Size> available_bytes) {
  EstimateAnswer answer;
  answer.bytes = formula_bytes(estimator, question, question.slices);
  if (*answer.bytes < 0)
    throw NoEstimateError(NoEstimate::negative, fmt::format("bytes is {}", *answer.bytes));
  if (available_bytes) answer.slices = max_slices(estimator, question, *available_bytes);
  return answer;
}

/// Returns the result of `answer`, or its failure as an answer.
template <typename Answer>
EstimateAnswer answer_or_failure(const EstimatorQuestion& question, std::optional<Size> available_bytes,
                                 Answer answer) {
  try {
    return answer();
  } catch (const NoEstimateError& error) {
    if (error.reason() != NoEstimate::negative_slices) return failed(error.what());
    return failed(
        fmt::format("{}, for {} bytes of available memory, other_dimensions=({}), slice_dimension={}, {}; "
                    "answer max(0, slices): 0 says that not even one slice fits",
                    error.what(), available_bytes.value_or(0), fmt::join(question.other_dimensions, ", "),
                    question.slice_dimension, question.dtype));
  } catch (const UsageError& error) {  // invalid arguments
    return failed(error.what());
  } catch (const IoError& error) {  // it cannot be started
    return failed(error.what());
  }
}

EstimatorProcess process_for(const ExternalEstimator& estimator, std::vector<std::string> questions) {
  return {process_name(estimator),
          [&estimator](const std::string& input) { return command_for(estimator, input); },
          std::move(questions), estimator.seconds, estimator.call.starts_with("command:")};
}

EstimateAnswer next_answer(EstimatorProcess& process, const ExternalEstimator& estimator,
                           const AnswerRules& rules, const AskLimits& limits) {
  EstimateAnswer answer = read_answer(process.next(limits), rules);
  for (const std::string& warning : answer.warnings) {
    if (limits.warnings != nullptr) limits.warnings->add(process_name(estimator), warning);
  }
  return answer;
}

}  // namespace

bool is_estimator_warning(std::string_view warning) {
  return warning.starts_with(kEstimator);
}

void check_estimators_found(const std::vector<ExternalEstimator>& estimators, const AskLimits& limits) {
  // One process finds the estimators of the same Python environment and folder, so that numpy is imported
  // once.
  std::map<std::pair<std::string, std::filesystem::path>, std::vector<const ExternalEstimator*>> by_python;
  for (const ExternalEstimator& one : estimators) {
    if (one.call.starts_with("python:")) {
      by_python[{one.python, one.suite_folder}].push_back(&one);
    } else if (!one.call.empty()) {
      try {
        command_for(one, "");
      } catch (const NoEstimateError& error) {
        throw_not_found(one, error.what());
      }
    }
  }
  for (const auto& [python, several] : by_python) {
    std::vector<std::string> questions;
    questions.reserve(several.size());
    for (const ExternalEstimator* const one : several) questions.push_back(find_line(*one));
    EstimatorProcess process = process_for(*several.front(), std::move(questions));
    for (const ExternalEstimator* const one : several) {
      std::optional<std::string> error;
      try {
        json_fields::field(Json::parse(process.next(limits)), "error", error);
      } catch (const NoEstimateError& failed) {
        error = failed.what();
      }
      // An estimator that died or was late may answer next time.
      if (error && error->starts_with(kNotFound)) throw_not_found(*one, *error);
    }
  }
}

void check_estimators_found(const Vocabulary& vocabulary, const std::vector<PlannedCase>& planned,
                            const AskLimits& limits) {
  std::vector<ExternalEstimator> estimators;
  std::set<std::pair<std::string, std::string>> known;  // estimator and variant, which may set its Python
  const auto add = [&](const std::string& name, const std::string& variant) {
    if (!known.emplace(name, variant).second) return;
    auto estimator = vocabulary.estimator(name, variant);
    if (!estimator) return;
    const auto is_same = [&](const ExternalEstimator& one) {
      return one.name == estimator->name && one.python == estimator->python;
    };
    if (std::ranges::none_of(estimators, is_same)) estimators.push_back(std::move(*estimator));
  };
  for (const PlannedCase& one : planned) {
    const std::string& variant = one.sweep_case.variant;
    const ProgramDescription* const program = vocabulary.program(variant);
    if (program != nullptr && !program->estimator.empty()) add(program->estimator, variant);
    for (const std::string& name : one.judged_estimators) add(name, variant);
  }
  check_estimators_found(estimators, limits);
}

std::vector<std::string> list_methods(const ExternalEstimator& estimator, const AskLimits& limits) {
  const std::string module = estimator.call.substr(estimator.call.find(':') + 1);
  try {
    EstimatorProcess process = process_for(estimator, {json_fields::one_line({{"methods", module}})});
    const Json answer = Json::parse(process.next(limits));
    std::optional<std::string> error;
    json_fields::field(answer, "error", error);
    if (error) throw UsageError(fmt::format("{}: {}", process_name(estimator), *error));
    return answer.at("methods").get<std::vector<std::string>>();
  } catch (const NoEstimateError& error) {
    throw UsageError(fmt::format("{}: {}", process_name(estimator), error.what()));
  }
}

EstimateAnswer ask_external(const ExternalEstimator& estimator, const EstimatorQuestion& question,
                            std::optional<Size> available_bytes, const std::string& parameters,
                            const AskLimits& limits) {
  return answer_or_failure(question, available_bytes, [&] {
    if (!estimator.formulas.empty()) return answer_by_formula(estimator, question, available_bytes);
    EstimatorProcess process =
        process_for(estimator, {request_line(estimator, question, available_bytes, parameters)});
    return next_answer(process, estimator,
                       {!estimator.call.starts_with("python:"), available_bytes.has_value(), question.slices},
                       limits);
  });
}

std::vector<EstimateObservation> ask_about_cases(const ExternalEstimator& estimator,
                                                 const VariantDescription& variant,
                                                 const std::vector<const Observation*>& cases,
                                                 const AskLimits& limits) {
  const bool is_python = estimator.call.starts_with("python:");
  std::vector<EstimateObservation> all(cases.size());
  std::vector<EstimatorQuestion> questions(cases.size());
  std::vector<std::string> requests;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    all[i].estimator = estimator.name;
    all[i].form = estimator.form;
    try {
      questions[i] = make_question(estimator, variant, cases[i]->axes);
      all[i].slices_used = questions[i].slices;
      if (is_python)
        requests.push_back(request_line(estimator, questions[i], cases[i]->requested_peak_bytes, ""));
    } catch (const UsageError& error) {
      all[i].error = error.what();
    }
  }
  EstimatorProcess process = process_for(estimator, std::move(requests));
  LateAnswers late;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (all[i].error) continue;
    all[i].error = late.error(process_name(estimator));
    if (all[i].error) continue;
    const std::optional<Size>& available = cases[i]->requested_peak_bytes;
    // Other programs may answer only one question, or print more than answers.
    EstimateAnswer answer =
        !is_python ? ask_external(estimator, questions[i], available, "", limits)
                   : answer_or_failure(questions[i], available, [&] {
                       return next_answer(process, estimator,
                                          {false, available.has_value(), questions[i].slices}, limits);
                     });
    all[i].slices_estimated = answer.slices;
    all[i].bytes_estimated = answer.bytes;
    all[i].terms = std::move(answer.terms);
    all[i].dtype = std::move(answer.dtype);
    all[i].error = std::move(answer.error);
    late.note(all[i].error);
  }
  return all;
}

void note_external_estimates(const PlannedCase& planned, const Vocabulary& vocabulary,
                             Observation& observation) {
  if (observation.outcome != Outcome::ok) return;
  const std::string& variant = planned.sweep_case.variant;
  const auto unasked = [&](const std::string& name) -> std::optional<EstimateObservation> {
    const auto estimator = vocabulary.estimator(name, variant);
    if (!estimator || vocabulary.description.variant(variant) == nullptr) return std::nullopt;
    EstimateObservation estimate;
    estimate.estimator = estimator->name;
    estimate.form = estimator->form;
    estimate.error = "not_asked: the run stopped before; `peakmark run --resume` asks it";
    estimate.is_asked = false;
    return estimate;
  };
  const ProgramDescription* program = vocabulary.program(variant);
  if (program != nullptr && !program->estimator.empty()) observation.estimate = unasked(program->estimator);
  for (const std::string& name : planned.judged_estimators) {
    if (auto estimate = unasked(name)) observation.other_estimates.push_back(std::move(*estimate));
  }
}

void ExternalAsker::ask(EstimateObservation& estimate, const Observation& observation) {
  const VariantDescription* const variant = vocabulary_.description.variant(observation.variant);
  if (variant == nullptr || estimate.is_asked) return;
  const auto estimator = vocabulary_.estimator(estimate.estimator, variant->name);
  if (!estimator) return;
  LateAnswers& late = late_[estimator->name];
  if (auto error = late.error(process_name(*estimator))) {
    estimate.is_asked = true;
    estimate.error = std::move(error);
    return;
  }
  estimate = ask_about_cases(*estimator, *variant, {&observation}, limits_).front();
  late.note(estimate.error);
}

void ExternalAsker::ask(Observation& observation) {
  if (observation.estimate) ask(*observation.estimate, observation);
  for (EstimateObservation& estimate : observation.other_estimates) ask(estimate, observation);
}

}  // namespace peakmark
