#include "measure/worker/worker_services.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <istream>
#include <ostream>

#include "base/error.hpp"
#include "measure/device/dry/dry_device.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/sweep/description.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/worker/estimates.hpp"

namespace peakmark {

using backend::Device;

namespace {

using json_fields::Json;

struct Question {
  const RegisteredVariant* variant = nullptr;
  const RegisteredEstimator* estimator = nullptr;
  Parameters parameters;
  std::optional<Size> available_bytes;
  std::optional<Size> slices;
};

Parameters with_defaults(const VariantDescription& variant, const Json& given) {
  Parameters parameters = variant.defaults();
  Parameters values;
  json_fields::read(given, values);
  for (const auto& [name, value] : values.values()) {
    check_axis_value(variant.known_axis(name), value);
    parameters.set(name, value);
  }
  return parameters;
}

const RegisteredEstimator& choose_estimator(const RegisteredVariant& variant,
                                            const std::optional<std::string>& name) {
  if (variant.estimators.empty()) {
    throw UsageError(fmt::format("{} has no estimator", variant.description.name));
  }
  if (!name) return variant.estimators.front();
  std::vector<std::string> names;
  for (const RegisteredEstimator& estimator : variant.estimators) {
    if (estimator.name() == *name) return estimator;
    names.emplace_back(estimator.name());
  }
  throw UsageError(
      fmt::format("{} has no estimator '{}'{}", variant.description.name, *name, suggest_word(*name, names)));
}

Question read_question(const Registry& registry, const Json& json) {
  std::optional<std::string> estimator;
  std::string variant;
  Question question;
  for (const auto& [key, value] : json.items()) {
    if (key == "variant") {
      json_fields::read(value, variant);
    } else if (key == "estimator") {
      json_fields::read(value, estimator);
    } else if (key == "available_bytes") {
      json_fields::read(value, question.available_bytes);
    } else if (key == "slices") {
      json_fields::read(value, question.slices);
    } else if (key != "parameters") {
      throw UsageError(fmt::format(
          "unknown key '{}'; a question has variant, parameters, available_bytes, slices, estimator", key));
    }
  }
  question.variant = registry.find(variant);
  if (question.variant == nullptr) {
    throw UsageError(fmt::format("no variant '{}'{}", variant,
                                 suggest_word(variant, registry.describe().variant_names())));
  }
  question.estimator = &choose_estimator(*question.variant, estimator);
  question.parameters =
      with_defaults(question.variant->description, json.value("parameters", Json::object()));
  return question;
}

Json answer(const Registry& registry, std::string_view text) {
  Json result = {
      {"slices", nullptr}, {"bytes", nullptr}, {"dtype", nullptr}, {"terms", nullptr}, {"error", nullptr}};
  Question question;
  bool is_asked = false;
  const auto whose = [&](const std::string& error) {
    return is_asked ? fmt::format("the estimator '{}' failed: {}", question.estimator->name(), error) : error;
  };
  try {
    question = read_question(registry, Json::parse(text));
    question.variant->check(question.parameters);  // a case that cannot run has no estimate
    is_asked = true;
    const std::string& slice_axis = question.variant->description.slice_axis;
    std::optional<Size> slices = question.slices;
    if (question.available_bytes) {
      const Size fitting = question.estimator->max_slices(question.parameters, *question.available_bytes);
      result["slices"] = fitting;
      if (!slices) slices = fitting;
    }
    if (!slices) slices = question.parameters.integer(slice_axis);
    result["bytes"] = question.estimator->bytes(question.parameters, *slices);
    if (!question.available_bytes) result["slices"] = *slices;
    result["dtype"] = to_string(question.variant->output_dtype(question.parameters));
    // The terms are for the same number of slices as the bytes.
    question.parameters.set(slice_axis, std::max<Size>(1, *slices));
    Json terms = Json::array();
    for (const EstimateTerm& term : question.estimator->terms(question.parameters)) {
      terms.push_back({{"name", term.name},
                       {"per_slice_bytes", term.per_slice_bytes},
                       {"fixed_bytes", term.fixed_bytes}});
    }
    if (!terms.empty()) result["terms"] = std::move(terms);
  } catch (const Json::exception& error) {
    result["error"] = json_fields::message_of(error);
  } catch (const OverflowError& error) {
    result["error"] = whose(error.what() + largest_axis_note(question.parameters));
  } catch (const std::exception& error) {
    result["error"] = whose(error.what());
  }
  return result;
}

}  // namespace

std::string answer_estimate(const Registry& registry, std::string_view question) {
  return json_fields::one_line(answer(registry, question));
}

void serve_estimates(const Registry& registry, std::istream& questions,
                     const std::function<void(const std::string&)>& answer) {
  std::string line;
  while (std::getline(questions, line)) {
    if (!line.empty()) answer(answer_estimate(registry, line));
  }
}

std::optional<Size> estimated_bytes(const RegisteredVariant& variant, const Parameters& parameters) {
  if (variant.estimators.empty() || !variant.is_own_operation) return std::nullopt;
  try {
    variant.check(parameters);
    return variant.estimators.front().bytes(parameters, parameters.integer(variant.description.slice_axis));
  } catch (const OverflowError&) {
    throw;
  } catch (const std::exception&) {
    return std::nullopt;  // the case's observation has the reason
  }
}

std::optional<CaseMistake> mistake_in(const RegisteredVariant& variant, const Parameters& parameters,
                                      Device& dry) {
  try {
    // `make` allocates nothing, so it checks only the parameters; the formula has every term.
    if (variant.runs_on(Backend::dry)) {
      static_cast<void>(variant.make(dry, parameters));
    } else {
      variant.check(parameters);
    }
    static_cast<void>(estimated_bytes(variant, parameters));
  } catch (const OverflowError& error) {
    return CaseMistake{error.what() + largest_axis_note(parameters)};
  } catch (const WorkerMistake& error) {
    return CaseMistake{error.what(), true};
  } catch (const UsageError& error) {
    return CaseMistake{error.what()};
  } catch (const std::exception&) {
    // OutOfMemoryError, UnsupportedError, too little host memory: these become the outcome of the case.
  }
  return std::nullopt;
}

void serve_checks(const Registry& registry, std::istream& names, std::ostream& answers) {
  const std::unique_ptr<DryDevice> dry = open_dry();
  const Description description = registry.describe();
  std::string name;
  while (std::getline(names, name)) {
    if (name.empty()) continue;
    std::optional<CaseMistake> mistake;
    try {
      const SweepCase sweep_case = parse_case(name, description);
      mistake = mistake_in(*registry.find(sweep_case.variant), sweep_case.parameters, *dry);
    } catch (const UsageError& error) {
      mistake = CaseMistake{error.what()};
    }
    json_fields::Json answer{{"case", name}, {"error", nullptr}};
    if (mistake) answer["error"] = mistake->text;
    if (mistake && mistake->of_worker) answer["of_worker"] = true;
    answers << json_fields::one_line(answer) << '\n' << std::flush;
  }
}

}  // namespace peakmark
