#include "measure/sweep/external_estimator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/pattern.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/sweep/suite_keys.hpp"

namespace peakmark {
namespace {

bool is_integer(const AxisDescription& axis) {
  return std::holds_alternative<Size>(axis.default_value);
}

/// Returns the formulas of dimensions, or the first two integer axes other than the slice axis.
std::vector<Formula> find_dimensions(const ExternalEstimator& estimator, const VariantDescription& variant) {
  if (!estimator.other_dimensions.empty()) return estimator.other_dimensions;
  std::vector<Formula> dimensions;
  for (const AxisDescription& axis : variant.axes) {
    if (dimensions.size() < 2 && is_integer(axis) && axis.name != variant.slice_axis) {
      dimensions.emplace_back(axis.name);
    }
  }
  if (dimensions.size() < 2) {
    throw UsageError(fmt::format(
        "{} has fewer than two integer axes besides its slice axis: add other_dimensions = [\"ny\", \"nx\"]",
        variant.name));
  }
  return dimensions;
}

bool names_an_axis(const std::vector<Formula>& dimensions, const std::string& axis) {
  return std::ranges::any_of(dimensions, [&](const Formula& one) { return one.text() == axis; });
}

std::vector<std::string> find_parameters(const ExternalEstimator& estimator,
                                         const VariantDescription& variant,
                                         const std::vector<Formula>& dimensions) {
  if (estimator.parameters) return *estimator.parameters;
  std::vector<std::string> names;
  for (const AxisDescription& axis : variant.axes) {
    const bool taken =
        axis.name == variant.slice_axis || axis.name == "dtype" || names_an_axis(dimensions, axis.name);
    if (!taken) names.push_back(axis.name);
  }
  return names;
}

bool is_for_variant(const EstimatorFormula& formula, std::string_view variant) {
  return std::ranges::all_of(formula.when, [&](const CaseCondition& condition) {
    return condition.key != "variant" || std::ranges::any_of(condition.values, [&](const auto& pattern) {
             return matches_pattern(to_text(pattern.value), variant);
           });
  });
}

bool is_for_case(const EstimatorFormula& formula, const EstimatorQuestion& question) {
  return is_for_variant(formula, question.variant) &&
         std::ranges::all_of(formula.when, [&](const CaseCondition& condition) {
           if (condition.key == "variant") return true;
           const AxisValue* const value = question.axes.find(condition.key);
           return value != nullptr && std::ranges::any_of(condition.values, [&](const auto& one) {
                    return is_same_value(one.value, *value);
                  });
         });
}

void check_formulas_fit(const ExternalEstimator& estimator, const VariantDescription& variant) {
  bool has_one = false;
  for (const EstimatorFormula& formula : estimator.formulas) {
    if (!is_for_variant(formula, variant.plain_name())) continue;
    has_one = true;
    for (const CaseCondition& condition : formula.when) {
      if (condition.key != "variant") static_cast<void>(variant.known_axis(condition.key));
    }
    for (const std::string& axis : formula.bytes.axes()) {
      if (axis == kItemSizeAxis && variant.axis(axis) == nullptr) {
        static_cast<void>(variant.known_axis("dtype"));
      } else {
        static_cast<void>(variant.number_axis(axis));
      }
    }
  }
  if (!has_one)
    throw UsageError(fmt::format("estimator '{}' has no formula for {}", estimator.name, variant.name));
}

}  // namespace

bool is_estimator_call(std::string_view text) {
  return text.starts_with("python:") || text.starts_with("command:");
}

std::vector<std::string> estimator_command_words(std::string_view command) {
  std::vector<std::string> words;
  bool is_in_word = false;
  char quote = '\0';
  for (std::size_t at = 0; at < command.size(); ++at) {
    const char letter = command[at];
    if (quote == '\0' && (letter == ' ' || letter == '\t' || letter == '\n')) {
      is_in_word = false;
      continue;
    }
    if (!is_in_word) words.emplace_back();
    is_in_word = true;
    if (letter == quote) {
      quote = '\0';
    } else if (quote == '\0' && (letter == '"' || letter == '\'')) {
      quote = letter;
    } else if (letter == '\\' && quote != '\'' && at + 1 < command.size()) {
      words.back() += command[++at];
    } else {
      words.back() += letter;
    }
  }
  if (quote != '\0') throw UsageError(fmt::format("unbalanced {} in '{}'", quote, command));
  return words;
}

void check_estimator_call(std::string_view call) {
  const std::size_t colon = call.find(':');
  const std::string_view what = colon == std::string_view::npos ? call : call.substr(colon + 1);
  if (call.starts_with("command:")) {
    const std::vector<std::string> words = estimator_command_words(what);
    if (!words.empty() && !words.front().empty()) return;
  }
  const std::size_t function = what.find(':');
  if (call.starts_with("python:") && function != std::string_view::npos && function != 0 &&
      function + 1 < what.size()) {
    return;
  }
  throw UsageError(fmt::format(
      "malformed call '{}': write python:package.module:function or command:PROGRAM ARGUMENTS", call));
}

void check_estimator_form(std::string_view form) {
  const std::vector<std::string>& forms = suite_words("estimator_form");
  if (std::ranges::find(forms, form) != forms.end()) return;
  throw UsageError(fmt::format("unknown form '{}'{}", form, suggest_word(form, forms)));
}

void check_estimator_dtype(const std::string& dtype) {
  const std::vector<std::string>& names = suite_words("dtype_name");
  static const Pattern code("[<>=|]?([?bBhHiIlLqQefdgFDG]|[biufc][0-9]{1,3})");
  if (std::ranges::find(names, dtype) != names.end() || code.matches(dtype)) return;
  throw UsageError(fmt::format("unknown dtype '{}'{}", dtype, suggest_word(dtype, names)));
}

void check_function_beside(const std::string& function) {
  const std::size_t colon = function.find(':');
  const bool is_one = colon != std::string::npos && colon != 0 && colon + 1 < function.size() &&
                      function.find(':', colon + 1) == std::string::npos &&
                      function.find(' ') == std::string::npos;
  if (!is_one) {
    throw UsageError(fmt::format("malformed function '{}': write package.module:function", function));
  }
}

Size formula_bytes(const ExternalEstimator& estimator, const EstimatorQuestion& question, Size slices) {
  const auto formula = std::ranges::find_if(
      estimator.formulas, [&](const EstimatorFormula& one) { return is_for_case(one, question); });
  if (formula == estimator.formulas.end()) {
    std::string axes;
    for (const auto& [axis, value] : question.axes.values())
      axes += fmt::format("{}{}={}", axes.empty() ? "" : " ", axis, to_text(value));
    throw UsageError(fmt::format("no formula applies to {} {}", question.variant, axes));
  }
  return formula->bytes.evaluate_integer([&](const std::string& axis) -> Number {
    if (axis == question.slice_axis) return slices;
    if (axis == kItemSizeAxis && question.axes.find(axis) == nullptr)
      return size_of(parse_dtype(question.axes.word("dtype")));
    return question.axes.number(axis);
  });
}

void check_estimator_fits(const ExternalEstimator& estimator, const VariantDescription& variant) {
  if (variant.slice_axis.empty()) {
    throw UsageError(
        fmt::format("{} has no slice axis, which estimators need: add slice_axis = \"n\"", variant.name));
  }
  if (!estimator.formulas.empty()) {
    check_formulas_fit(estimator, variant);
    return;
  }
  const std::vector<Formula> dimensions = find_dimensions(estimator, variant);
  for (const Formula& dimension : dimensions) {
    for (const std::string& axis : dimension.axes()) static_cast<void>(variant.number_axis(axis));
  }
  for (const std::string& axis : find_parameters(estimator, variant, dimensions)) {
    static_cast<void>(variant.known_axis(axis));
  }
}

EstimatorQuestion make_question(const ExternalEstimator& estimator, const VariantDescription& variant,
                                const Parameters& parameters) {
  check_estimator_fits(estimator, variant);
  const auto value_of = [&](const std::string& axis) { return parameters.number(axis); };
  EstimatorQuestion question;
  question.slice_dimension = variant.slice_dimension;
  question.slices = parameters.integer(variant.slice_axis);
  question.variant = variant.plain_name();
  question.axes = parameters;
  question.slice_axis = variant.slice_axis;
  if (!estimator.formulas.empty()) return question;
  const std::vector<Formula> dimensions = find_dimensions(estimator, variant);
  for (const Formula& dimension : dimensions) {
    question.other_dimensions.push_back(dimension.evaluate_integer(value_of));
  }
  const AxisValue* const dtype = parameters.find("dtype");
  question.dtype = numpy_dtype_name(!estimator.dtype.empty() ? estimator.dtype
                                    : dtype != nullptr       ? to_text(*dtype)
                                                             : "float32");
  std::vector<std::pair<std::string, AxisValue>> values;
  for (const std::string& axis : find_parameters(estimator, variant, dimensions)) {
    values.emplace_back(axis, *parameters.find(axis));
  }
  question.parameters = Parameters(std::move(values));
  return question;
}

}  // namespace peakmark
