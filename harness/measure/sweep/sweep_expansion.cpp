#include "measure/sweep/sweep_expansion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/sweep/nearest_word.hpp"
#include "measure/sweep/typed_axes.hpp"

namespace peakmark {
namespace {

/// Returns whether a pattern names a variant. A pattern without a label matches the variant of every worker.
bool names(std::string_view pattern, const VariantDescription& variant) {
  return matches_pattern(pattern, variant.name) || matches_pattern(pattern, variant.plain_name());
}

void add_matching(const Located<std::string>& pattern, const Description& description,
                  std::vector<const VariantDescription*>& variants) {
  bool found = false;
  for (const VariantDescription& variant : description.variants) {
    if (!names(pattern.value, variant)) continue;
    found = true;
    if (std::ranges::find(variants, &variant) != variants.end()) {
      fail(pattern.place,
           fmt::format("duplicate variant: '{}' names {} again; name it once", pattern.value, variant.name));
    }
    variants.push_back(&variant);
  }
  if (!found) {
    fail(pattern.place, fmt::format("unknown variant '{}'{}{}", pattern.value,
                                    suggest_pattern(pattern.value, description.variant_names()),
                                    description.hint_at_own_worker()));
  }
}

const AxisDescription& find_axis(const VariantDescription& variant, std::string_view name,
                                 const SourceLocation& place) {
  return check_here(place, [&]() -> const AxisDescription& { return variant.known_axis(name); });
}

void check_number_axis(const VariantDescription& variant, const std::string& name,
                       const SourceLocation& place) {
  check_here(place, [&] { static_cast<void>(variant.number_axis(name)); });
}

AxisValue typed_value(const AxisDescription& axis, const Located<AxisValue>& value) {
  return check_here(value.place, [&] { return typed_axis_value(axis, value.value); });
}

/// Returns a value from the command line, where only integers have a type.
AxisValue parse_typed_value(const AxisDescription& axis, const Located<AxisValue>& value) {
  if (std::holds_alternative<Size>(axis.default_value)) return value.value;
  // `2023` may be a word, too.
  return check_here(value.place, [&] { return parse_axis_value(axis, to_text(value.value)); });
}

void check_fits(const ExternalEstimator& estimator, const VariantDescription& variant,
                const SourceLocation& place) {
  check_here(place, [&] { check_estimator_fits(estimator, variant); });
}

/// Returns the value of the formula with the type of the axis.
AxisValue evaluate(const DerivedAxis& derived, const AxisDescription& axis, const Parameters& parameters) {
  const auto value_of = [&](const std::string& name) { return parameters.number(name); };
  return check_here(derived.place, [&]() -> AxisValue {
    if (std::holds_alternative<Size>(axis.default_value)) return derived.formula.evaluate_integer(value_of);
    const Number value = derived.formula.evaluate(value_of);
    const Size* const integer = std::get_if<Size>(&value);
    return integer != nullptr ? static_cast<double>(*integer) : std::get<double>(value) + 0.0;
  });
}

bool holds(const CaseCondition& condition, const PlannedCase& planned, const VariantDescription& variant) {
  return std::ranges::any_of(condition.values, [&](const Located<AxisValue>& value) {
    if (condition.key == "variant") return names(to_text(value.value), variant);
    if (condition.key == "backend") return to_text(value.value) == planned.sweep_case.backend;
    return is_same_value(value.value, *planned.sweep_case.parameters.find(condition.key));
  });
}

void apply(const Expectation& expectation, PlannedCase& planned) {
  if (expectation.window) planned.window = *expectation.window;
  if (expectation.outcome) planned.expected_outcome = *expectation.outcome;
  if (expectation.version) planned.version = *expectation.version;
  planned.limits.replace(expectation.limits);
  if (expectation.estimators) {
    planned.judged_estimators.clear();
    for (const auto& estimator : *expectation.estimators)
      planned.judged_estimators.push_back(estimator.value);
  }
}

}  // namespace

SweepExpansion::SweepExpansion(const SweepDocument& sweep, const SuiteDocument& suite,
                               const Vocabulary& vocabulary, const ExpandOptions& options,
                               const std::vector<AxisValues>& axes)
    : sweep_(sweep), suite_(suite), vocabulary_(vocabulary) {
  const Description& description = vocabulary.description;
  for (const Located<std::string>& pattern : sweep.variants) add_matching(pattern, description, variants_);
  std::vector<Located<std::string>> backends{{"auto", sweep.place}};
  if (suite.backends) backends = *suite.backends;
  if (sweep.backends) backends = *sweep.backends;
  if (options.backend) backends = {{*options.backend, sweep.place}};
  for (const Located<std::string>& backend : backends) {
    const bool automatic = backend.value == "auto";
    backends_.emplace_back(backend.value, automatic ? options.automatic_backend : backend.value);
  }
  replace_axes(axes);
  for (const VariantDescription* variant : variants_) {
    check_axes(*variant);
    check_estimators(suite.expectation, *variant);
    check_estimators(sweep.expectation, *variant);
  }
  check_rules();
  order_derived();
  count();
}

bool SweepExpansion::all_have(const std::string& axis) const {
  return std::ranges::all_of(variants_, [&](const auto* variant) { return variant->axis(axis) != nullptr; });
}

void SweepExpansion::replace_axes(const std::vector<AxisValues>& axes) {
  for (const AxisValues& typed : axes) {
    if (!all_have(typed.axis)) continue;
    AxisValues values = typed;
    for (Located<AxisValue>& value : values.values)
      value.value = parse_typed_value(*variants_.front()->axis(typed.axis), value);
    refuse_repeated_values(values);
    replace_axis(sweep_, values);
    has_typed_axes_ = true;
  }
  for (const Dimension& dimension : sweep_.dimensions) {
    for (const AxisValues& axis : dimension.axes) {
      if (axis.values.size() == dimension.size()) continue;
      const AxisValues& first = dimension.axes.front();
      fail(axis.place.line == 0 ? axis.place : first.place,
           fmt::format("{} of '{}' and {} of '{}', which are zipped in {}:{}: write as many values of each",
                       quantity(first.values.size(), "value"), first.axis, axis.values.size(), axis.axis,
                       sweep_.place.file, sweep_.place.line));
    }
  }
}

void SweepExpansion::check_axes(const VariantDescription& variant) {
  for (Dimension& dimension : sweep_.dimensions) {
    for (AxisValues& values : dimension.axes) {
      const AxisDescription& axis = find_axis(variant, values.axis, values.place);
      for (Located<AxisValue>& value : values.values) value.value = typed_value(axis, value);
    }
  }
  for (const DerivedAxis& derived : sweep_.derived) {
    check_number_axis(variant, derived.axis, derived.place);
    for (const std::string& axis : derived.formula.axes()) check_number_axis(variant, axis, derived.place);
  }
}

void SweepExpansion::check_estimators(const Expectation& expectation,
                                      const VariantDescription& variant) const {
  if (!expectation.estimators) return;
  std::vector<std::string> names;
  for (const auto& estimator : variant.estimators) names.push_back(estimator.name);
  for (const auto& estimator : vocabulary_.estimators) names.push_back(estimator->name);
  for (const Located<std::string>& estimator : *expectation.estimators) {
    if (const ExternalEstimator* external = vocabulary_.estimator(estimator.value)) {
      check_fits(*external, variant, estimator.place);
      continue;
    }
    if (std::ranges::find(names, estimator.value) != names.end()) continue;
    fail(estimator.place, fmt::format("{} has no estimator '{}'{}", variant.name, estimator.value,
                                      suggest_word(estimator.value, names)));
  }
}

void SweepExpansion::check_rules() const {
  for (const CaseRule& rule : sweep_.rules) {
    std::vector<const VariantDescription*> variants = variants_;
    for (const CaseCondition& condition : rule.when) {
      if (condition.key != "variant") continue;
      variants.clear();
      for (const Located<AxisValue>& value : condition.values) {
        add_matching({to_text(value.value), value.place}, vocabulary_.description, variants);
      }
      std::erase_if(variants,
                    [&](const auto* v) { return std::ranges::find(variants_, v) == variants_.end(); });
    }
    for (const CaseCondition& condition : rule.when) {
      if (condition.key == "variant" || condition.key == "backend") continue;
      for (const Located<AxisValue>& value : condition.values) {
        for (const VariantDescription* variant : variants_) {
          static_cast<void>(typed_value(find_axis(*variant, condition.key, condition.place), value));
        }
      }
    }
    for (const VariantDescription* variant : variants) check_estimators(rule.expectation, *variant);
  }
}

// Sorts formulas so that each comes after the formulas that it reads.
void SweepExpansion::order_derived() {
  std::vector<const DerivedAxis*> waiting;
  for (const DerivedAxis& derived : sweep_.derived) waiting.push_back(&derived);
  while (!waiting.empty()) {
    const auto ready = std::ranges::find_if(waiting, [&](const DerivedAxis* derived) {
      return std::ranges::none_of(waiting, [&](const DerivedAxis* other) {
        const auto& read = derived->formula.axes();
        return std::ranges::find(read, other->axis) != read.end();
      });
    });
    if (ready == waiting.end()) {
      fail(waiting.front()->place, fmt::format("circular formula '{}'", waiting.front()->formula.text()));
    }
    derived_.push_back(*ready);
    waiting.erase(ready);
  }
}

void SweepExpansion::count() {
  // No factor exceeds kMaxCases, and the product is checked after each: it cannot overflow.
  const auto times = [&](std::size_t& product, std::size_t factor) {
    product *= factor;
    if (product > kMaxCases) fail(sweep_.place, fmt::format("more than {} cases in the sweep", kMaxCases));
  };
  for (const Dimension& dimension : sweep_.dimensions) times(axis_combinations_, dimension.size());
  count_ = axis_combinations_;
  times(count_, variants_.size());
  times(count_, backends_.size());
}

Parameters SweepExpansion::parameters(const VariantDescription& variant, Parameters parameters,
                                      std::size_t index) const {
  for (auto dimension = sweep_.dimensions.rbegin(); dimension != sweep_.dimensions.rend(); ++dimension) {
    const std::size_t step = index % dimension->size();
    index /= dimension->size();
    for (const AxisValues& axis : dimension->axes) parameters.set(axis.axis, axis.values[step].value);
  }
  for (const DerivedAxis* derived : derived_) {
    const AxisDescription& described = *variant.axis(derived->axis);
    const AxisValue value = evaluate(*derived, described, parameters);
    try {
      check_axis_value(described, value);
    } catch (const UsageError& error) {
      std::string read;
      for (const std::string& axis : derived->formula.axes()) {
        read +=
            fmt::format("{} {} = {}", read.empty() ? " with" : ",", axis, to_text(*parameters.find(axis)));
      }
      fail(derived->place, fmt::format("{} (formula '{}'{})", error.what(), derived->formula.text(), read));
    }
    parameters.set(derived->axis, value);
  }
  return parameters;
}

bool SweepExpansion::apply_rules(Expanded& expanded, std::vector<bool>& held) const {
  bool kept = true;
  for (std::size_t i = 0; i < sweep_.rules.size(); ++i) {
    const CaseRule& rule = sweep_.rules[i];
    if (!std::ranges::all_of(rule.when,
                             [&](const auto& c) { return holds(c, expanded.planned, *expanded.variant); }))
      continue;
    held[i] = true;
    kept = kept && !rule.skip;
    apply(rule.expectation, expanded.planned);
  }
  return kept;
}

void SweepExpansion::walk(const std::function<void(Expanded)>& take) const {
  std::vector<bool> held(sweep_.rules.size());
  bool empty = true;
  const std::string place = sweep_.place.line == 0
                                ? "the command line"
                                : fmt::format("{}:{}", sweep_.place.file, sweep_.place.line);
  for (const VariantDescription* variant : variants_) {
    const Parameters defaults = variant->defaults();
    for (const auto& [written, resolved] : backends_) {
      for (std::size_t i = 0; i < axis_combinations_; ++i) {
        Expanded expanded{PlannedCase(), written, variant};
        expanded.planned.sweep_case = {variant->name, resolved, parameters(*variant, defaults, i)};
        apply(suite_.expectation, expanded.planned);
        apply(sweep_.expectation, expanded.planned);
        expanded.planned.figure = sweep_.figure;
        expanded.planned.place = place;
        if (!apply_rules(expanded, held)) continue;
        empty = false;
        take(std::move(expanded));
      }
    }
  }
  for (std::size_t i = 0; i < held.size(); ++i) {
    const CaseRule& rule = sweep_.rules[i];
    // A rule for CUDA is valid on an OpenCL device.
    const bool of_backend =
        std::ranges::any_of(rule.when, [](const auto& condition) { return condition.key == "backend"; });
    if (!held[i] && !of_backend && !has_typed_axes_)
      fail(rule.place, "the rule matches no case of its sweep");
  }
  if (empty) fail(sweep_.place, "empty sweep: its rules skip every case");
}

}  // namespace peakmark
