#include "analyse/explain/report/emit_parts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/sweep/formula.hpp"

namespace peakmark::emitting {

std::string slice_axis(const VariantFormulas& variant, const EmitOptions& options) {
  std::string wanted = options.slice_axis.empty() ? "n" : options.slice_axis;
  const auto& axes = variant.shapes().axes;
  if (std::ranges::find(axes, wanted, &Shapes::Axis::name) != axes.end()) return wanted;
  if (options.slice_axis.empty()) return "";
  throw UsageError(fmt::format("--slice-axis: {} has no integer axis '{}'", variant.variant, wanted));
}

std::vector<std::string> used_axes(const VariantFormulas& variant) {
  const std::vector<std::string> read = variant.explanation.peak()->axes();
  std::vector<std::string> used;
  for (const Shapes::Axis& axis : variant.shapes().axes) {
    if (std::ranges::find(read, axis.name) != read.end()) used.push_back(axis.name);
  }
  return used;
}

AxisLengths longest_recorded(const VariantFormulas& variant) {
  const Shapes tested = tested_shapes(variant);
  AxisLengths longest;
  for (const std::string& axis : used_axes(variant))
    longest.emplace_back(axis, std::ranges::max(tested.axis(axis)->values));
  return longest;
}

std::vector<std::string> origin(const std::vector<VariantFormulas>& variants, const RunContext& context,
                                const EmitOptions& options) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("Written by `peakmark explain{}` from {} of {}.",
                              options.source.empty() ? "" : " " + options.source,
                              context.id.empty() ? "profiles" : "run " + context.id, context.date));
  std::vector<std::string> facts;
  const auto add = [&](const char* what, const std::string& fact) {
    if (!fact.empty()) facts.push_back(fmt::format("{} {}", what, fact));
  };
  add("suite", context.suite);
  if (!context.device.empty())
    add("device", fmt::format("{} ({}{})", context.device, context.backend,
                              context.driver.empty() ? "" : " " + context.driver));
  add(context.id.empty() ? "recorder" : "worker", context.worker);
  add("commit", short_commit(context.commit));
  lines.push_back(fmt::format("Recorded with: {}.", fmt::join(facts, "; ")));
  for (const VariantFormulas& variant : variants) {
    const std::string words = variant.words_text();
    lines.push_back(fmt::format("{}{}: {} fitted, {} held out, 0 bytes off; {}.", variant.variant,
                                words.empty() ? "" : " " + words,
                                quantity(variant.explanation.fitted, "shape"), variant.explanation.held_out,
                                ranges_text(tested_shapes(variant))));
  }
  if (options.margin_percent > 0)
    lines.push_back(fmt::format("A margin of {} % is added to each peak.", options.margin_percent));
  return lines;
}

std::vector<WordSet> recorded_words(const VariantFormulas& variant) {
  std::vector<WordSet> words = variant.words;
  if (std::ranges::find(words, "dtype", &WordSet::axis) != words.end()) return words;
  std::vector<AxisValue> dtypes;
  for (const RecordedCases& cases : variant.cases) {
    for (const Observation* const one : cases.observations) {
      if (one->axes.find("dtype") == nullptr) continue;
      const AxisValue dtype = one->axes.word("dtype");
      if (std::ranges::find(dtypes, dtype) == dtypes.end()) dtypes.push_back(dtype);
    }
  }
  if (!dtypes.empty()) words.push_back({"dtype", std::move(dtypes)});
  return words;
}

std::vector<std::pair<std::string, Size>> constant_axes(const VariantFormulas& variant) {
  std::vector<std::pair<std::string, Size>> constant;
  for (const Shapes::Axis& axis : variant.shapes().axes) {
    const Size value = axis.values.front();
    const bool is_constant = std::ranges::all_of(variant.cases, [&](const RecordedCases& cases) {
      const auto same = std::ranges::find(cases.shapes.axes, axis.name, &Shapes::Axis::name);
      return same != cases.shapes.axes.end() &&
             std::ranges::count(same->values, value) == std::ssize(same->values);
    });
    if (is_constant && axis.name != kItemSizeAxis) constant.emplace_back(axis.name, value);
  }
  return constant;
}

std::optional<LinearFormula> split_by_slices(const Expression& formula, const std::string& slices) {
  const auto reads_slices = [&](const Expression& one) {
    const auto axes = one.axes();
    return std::ranges::find(axes, slices) != axes.end();
  };
  if (!reads_slices(formula)) return LinearFormula{Expression(), formula};
  if (formula.operation() == Expression::Operation::axis) return LinearFormula{Expression(1), Expression()};
  std::vector<Expression> per_slice;
  std::vector<Expression> fixed;
  if (formula.operation() == Expression::Operation::add) {
    for (const Expression& term : formula.operands()) {
      const auto parts = split_by_slices(term, slices);
      if (!parts) return std::nullopt;
      per_slice.push_back(parts->per_slice);
      fixed.push_back(parts->fixed);
    }
    return LinearFormula{Expression::add(std::move(per_slice)), Expression::add(std::move(fixed))};
  }
  if (formula.operation() != Expression::Operation::multiply ||
      std::ranges::count_if(formula.operands(), reads_slices) != 1)
    return std::nullopt;
  for (const Expression& factor : formula.operands()) {
    const auto parts = split_by_slices(factor, slices);
    if (!parts) return std::nullopt;
    const bool has_slices = reads_slices(factor);
    per_slice.push_back(has_slices ? parts->per_slice : factor);
    fixed.push_back(has_slices ? parts->fixed : factor);
  }
  return LinearFormula{Expression::multiply(std::move(per_slice)), Expression::multiply(std::move(fixed))};
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + "\"";
}

std::string literals(const std::vector<AxisValue>& values) {
  std::vector<std::string> all;
  all.reserve(values.size());
  for (const AxisValue& value : values) {
    const bool is_word = std::holds_alternative<std::string>(value);
    all.push_back(is_word ? quoted(to_text(value)) : to_text(value));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

namespace {

// Returns the formula of an estimator in a suite. Throws UsageError if a suite cannot express it.
std::string suite_formula(const VariantFormulas& variant, const EmitOptions& options) {
  std::string text = to_text(*variant.explanation.peak());
  try {
    static_cast<void>(Formula(text));
  } catch (const UsageError& error) {
    throw UsageError(
        fmt::format("{}: a suite cannot have its formula, so no estimator is written; write --emit "
                    "python ({})",
                    variant.variant, error.what()));
  }
  if (options.margin_percent == 0) return text;
  return fmt::format("ceil_div(({}) * {}, 100)", text, 100 + options.margin_percent);
}

}  // namespace

std::string toml_estimator(const std::vector<VariantFormulas>& variants, const RunContext& context,
                           const EmitOptions& options) {
  std::string text;
  for (const std::string& line : origin(variants, context, options)) text += "# " + one_line(line) + "\n";
  text += "\n[[estimator]]\nname = \"explained\"\n";
  for (const VariantFormulas& variant : variants) {
    std::string when = "variant = " + quoted(variant.variant);
    for (const WordSet& set : recorded_words(variant)) {
      const std::string list = literals(set.words);
      when += fmt::format(", {} = {}", set.axis, set.words.size() == 1 ? list : "[" + list + "]");
    }
    for (const auto& [axis, value] : constant_axes(variant)) when += fmt::format(", {} = {}", axis, value);
    text += fmt::format("\n[[estimator.formula]]\nwhen = {{ {} }}\nbytes = {}\n", when,
                        quoted(suite_formula(variant, options)));
  }
  return text;
}

}  // namespace peakmark::emitting
