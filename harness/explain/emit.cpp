#include "explain/emit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/text_table.hpp"
#include "explain/emit_inside.hpp"
#include "sweep/formula.hpp"

namespace peakmark {
namespace emitting {

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
  std::vector<std::string> dtypes;
  for (const RecordedCases& cases : variant.cases) {
    for (const Observation* const one : cases.observations) {
      if (one->axes.find("dtype") == nullptr) continue;
      const std::string& dtype = one->axes.word("dtype");
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

namespace {

void check_variant_formulas(const VariantFormulas& variant) {
  const auto peak = variant.explanation.peak();
  if (!peak)
    throw UsageError(
        fmt::format("{} {}: the peak has no formula, so no estimator is written; without --emit the "
                    "reasons are printed",
                    variant.variant, variant.words_text()));
  for (const RecordedCases& cases : variant.cases) {
    for (std::size_t shape = 0; shape < cases.observations.size(); ++shape) {
      const Observation& observation = *cases.observations[shape];
      const Size formula = evaluate(*peak, cases.shapes, shape);
      if (!observation.requested_peak_bytes || formula == *observation.requested_peak_bytes) continue;
      throw UsageError(
          fmt::format("{}: the formula gives {} bytes, but {} were recorded; no estimator is written",
                      observation.case_name, formula, *observation.requested_peak_bytes));
    }
  }
}

// A formula is asked for by variant and words only.
void check_backends(const std::vector<VariantFormulas>& variants) {
  for (const VariantFormulas& one : variants) {
    for (const VariantFormulas& other : variants) {
      if (one.variant != other.variant || one.backend == other.backend) continue;
      if (*one.explanation.peak() == *other.explanation.peak()) continue;
      throw UsageError(
          fmt::format("{}: its formulas on {} and {} differ, so no estimator is written; record one of them",
                      one.variant, one.backend, other.backend));
    }
  }
}

// ---- C++

struct Part {
  std::string name;
  LinearFormula bytes;
};

// Returns the parts of a peak; empty if it is no sum of them.
std::vector<Part> parts(const VariantFormulas& variant, const EmitOptions& options) {
  const std::vector<PeakMoment>& moments = variant.explanation.moments;
  const std::string slices = slice_axis(variant, options);
  if (moments.size() != 1 || !moments.front().is_sum_of_terms || slices.empty() || options.margin_percent > 0)
    return {};
  std::vector<Part> all;
  for (std::size_t i = 0; i < moments.front().terms.size(); ++i) {
    const ExplainedAllocation& allocation = variant.explanation.allocations[moments.front().allocations[i]];
    auto part = split_by_slices(moments.front().terms[i], slices);
    if (!part) return {};
    all.push_back({allocation.name, std::move(*part)});
  }
  return all;
}

// Returns the condition on words and dtype with which a formula is right; empty if there is none.
std::string cpp_condition(const VariantFormulas& variant) {
  std::string text;
  for (const WordSet& set : recorded_words(variant)) {
    std::vector<std::string> words;
    for (const std::string& word : set.words) words.push_back(quoted(word));
    text += fmt::format("{}is_one_of({}, {{{}}})", text.empty() ? "" : " && ",
                        fmt::format("c.word({})", quoted(set.axis)), fmt::join(words, ", "));
  }
  for (const auto& [axis, value] : constant_axes(variant))
    text += fmt::format("{}c[{}] == {}", text.empty() ? "" : " && ", quoted(axis), value);
  return text;
}

std::string cpp_axes(const VariantFormulas& variant, const std::string& without) {
  std::string text;
  for (const auto& [axis, longest] : longest_recorded(variant)) {
    if (axis != kItemSizeAxis)
      text += fmt::format("      check_range(\"{0}\", c[\"{0}\"], {1}, strict);\n", axis, longest);
    if (axis == without) continue;
    text += axis == kItemSizeAxis ? "      const Size itemsize = bytes_of_element(c.word(\"dtype\"));\n"
                                  : fmt::format("      const Size {} = c[\"{}\"];\n", axis, axis);
  }
  return text;
}

// The estimator of a variant: a formula for each combination of words.
std::string cpp_estimator(const std::vector<const VariantFormulas*>& formulas, const EmitOptions& options,
                          std::size_t number) {
  const bool has_parts =
      std::ranges::all_of(formulas, [&](const auto* one) { return !parts(*one, options).empty(); });
  std::string text = fmt::format(
      "/// {}\ninline Estimator explained_{}([[maybe_unused]] bool strict = false) {{\n  return "
      "Estimator::{}([=](const "
      "Case& c) -> {} {{\n",
      formulas.front()->variant, number, has_parts ? "of_parts" : "of_bytes",
      has_parts ? "std::vector<Part>" : "Size");
  std::string recorded;
  bool is_for_all = false;
  for (const VariantFormulas* const one : formulas) {
    const std::string condition = cpp_condition(*one);
    is_for_all = condition.empty();
    text += is_for_all ? "    {\n" : fmt::format("    if ({}) {{\n", condition);
    text += cpp_axes(*one, has_parts ? slice_axis(*one, options) : "");
    if (has_parts) {
      text += "      return {\n";
      const std::vector<Part> all = parts(*one, options);
      for (const Part& part : all)
        text += fmt::format("          {{{}, {}, {}}},\n", quoted(part.name),
                            to_text(part.bytes.per_slice, ExpressionStyle::cpp),
                            to_text(part.bytes.fixed, ExpressionStyle::cpp));
      text += "      };\n";
    } else {
      const std::string peak = to_text(*one->explanation.peak(), ExpressionStyle::cpp);
      text +=
          options.margin_percent == 0
              ? fmt::format("      return {};\n", peak)
              : fmt::format("      const Size bytes = {};\n      return bytes + ceil_div(bytes * {}, 100);\n",
                            peak, options.margin_percent);
    }
    text += "    }\n";
    recorded += (recorded.empty() ? "" : "; ") + words_text(recorded_words(*one));
    for (const auto& [axis, value] : constant_axes(*one)) recorded += fmt::format(" {}={}", axis, value);
  }
  if (!is_for_all)
    text += fmt::format("    throw std::invalid_argument({});\n",
                        quoted(fmt::format("{}: no formula for these axes; recorded: {}",
                                           formulas.front()->variant, recorded)));
  return text + "  });\n}\n";
}

constexpr std::string_view kCppFunctions =
    R"(/// A formula was not tested at longer axes: warns once, or throws if `strict`.
inline void check_range(const std::string& axis, Size value, Size longest, bool strict) {
  if (value <= longest) return;
  const std::string text = "the formula was not tested at " + axis + "=" + std::to_string(value) +
                           " (recorded to " + std::to_string(longest) + "); record such a shape";
  if (strict) throw std::out_of_range(text);
  static std::atomic_flag has_warned = ATOMIC_FLAG_INIT;
  if (!has_warned.test_and_set()) std::cerr << "warning: " << text << "\n";
}
inline bool is_one_of(const std::string& word, const std::vector<std::string>& recorded) {
  return std::find(recorded.begin(), recorded.end(), word) != recorded.end();
}
inline Size ceil_div(Size a, Size b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
inline Size checked_length(Size x) {
  if (x > Size{1} << 62) throw std::overflow_error("a length is more than 2^62");
  return x;
}
inline Size next_pow2(Size x) {
  Size power = 1;
  while (power < checked_length(x)) power *= 2;
  return power;
}
inline Size next_smooth(Size x, Size largest_prime) {
  for (x = x < 1 ? 1 : x;; x = checked_length(x + 1)) {
    Size rest = x;
    for (Size prime = 2; prime <= largest_prime; ++prime) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) return x;
  }
}
)";

// A function of the dtypes that were recorded.
std::string cpp_dtypes(const std::vector<VariantFormulas>& variants) {
  std::set<std::string> recorded;
  for (const VariantFormulas& variant : variants) {
    const auto axes = used_axes(variant);
    if (std::ranges::find(axes, kItemSizeAxis) == axes.end()) continue;
    for (const WordSet& set : recorded_words(variant)) {
      if (set.axis == "dtype") recorded.insert(set.words.begin(), set.words.end());
    }
  }
  if (recorded.empty()) return "";
  std::string text = "inline Size bytes_of_element(const std::string& dtype) {\n";
  for (const std::string& dtype : recorded)
    text += fmt::format("  if (dtype == {}) return {};\n", quoted(dtype), size_of(parse_dtype(dtype)));
  return text + "  throw std::invalid_argument(\"dtype \" + dtype + \" was not recorded\");\n}\n";
}

std::string cpp(const std::vector<VariantFormulas>& variants, const RunContext& context,
                const EmitOptions& options) {
  std::string text;
  for (const std::string& line : origin(variants, context, options)) text += "// " + one_line(line) + "\n";
  text +=
      "#pragma once\n\n#include <algorithm>\n#include <atomic>\n#include <iostream>\n#include "
      "<peakmark/worker.hpp>\n#include <stdexcept>\n#include "
      "<string>\n#include <vector>\n\nnamespace explained {\n\nusing namespace peakmark;\n\n";
  text += kCppFunctions;
  text += cpp_dtypes(variants);
  std::vector<std::vector<const VariantFormulas*>> by_variant;
  for (const VariantFormulas& variant : variants) {
    const auto same = std::ranges::find_if(
        by_variant, [&](const auto& several) { return several.front()->variant == variant.variant; });
    (same == by_variant.end() ? by_variant.emplace_back() : *same).push_back(&variant);
  }
  for (std::size_t i = 0; i < by_variant.size(); ++i)
    text += "\n" + cpp_estimator(by_variant[i], options, i + 1);
  return text + "\n}  // namespace explained\n";
}

// ---- suites

// The formula of an estimator in a suite. Throws UsageError if what was written does not give the recorded
// peaks: a suite reads it with another parser than this module.
std::string suite_formula(const VariantFormulas& variant, const EmitOptions& options) {
  const Expression peak = *variant.explanation.peak();
  const Formula written = [&] {
    try {
      return Formula(to_text(peak));
    } catch (const UsageError& error) {
      throw UsageError(
          fmt::format("{}: a suite cannot have its formula, so no estimator is written; write --emit "
                      "python ({})",
                      variant.variant, error.what()));
    }
  }();
  for (const RecordedCases& cases : variant.cases) {
    for (std::size_t shape = 0; shape < cases.shapes.count(); ++shape) {
      const Size bytes = written.evaluate(
          [&](const std::string& axis) { return evaluate(Expression::axis(axis), cases.shapes, shape); });
      if (bytes != evaluate(peak, cases.shapes, shape))
        throw UsageError(fmt::format("{}: a suite reads {} as {} bytes; no estimator is written",
                                     cases.observations[shape]->case_name, written.text(), bytes));
    }
  }
  if (options.margin_percent == 0) return written.text();
  return fmt::format("ceil_div(({}) * {}, 100)", written.text(), 100 + options.margin_percent);
}

std::string toml(const std::vector<VariantFormulas>& variants, const RunContext& context,
                 const EmitOptions& options) {
  std::string text;
  for (const std::string& line : origin(variants, context, options)) text += "# " + one_line(line) + "\n";
  text += "\n[[estimator]]\nname = \"explained\"\n";
  for (const VariantFormulas& variant : variants) {
    std::string when = "variant = " + quoted(variant.variant);
    for (const WordSet& set : recorded_words(variant)) {
      std::vector<std::string> words;
      words.reserve(set.words.size());
      for (const std::string& word : set.words) words.push_back(quoted(word));
      const std::string list = fmt::format("{}", fmt::join(words, ", "));
      when += fmt::format(", {} = {}", set.axis, words.size() == 1 ? list : "[" + list + "]");
    }
    for (const auto& [axis, value] : constant_axes(variant)) when += fmt::format(", {} = {}", axis, value);
    text += fmt::format("\n[[estimator.formula]]\nwhen = {{ {} }}\nbytes = {}\n", when,
                        quoted(suite_formula(variant, options)));
  }
  return text;
}

// ---- pages

std::string title(const VariantFormulas& variant) {
  const std::string words = variant.words_text();
  return variant.variant + (words.empty() ? "" : " " + words);
}

std::string markdown(const std::vector<VariantFormulas>& variants, const RunContext& context,
                     const EmitOptions& options) {
  std::string text;
  for (const VariantFormulas& variant : variants) {
    text += "### " + markdown_cell(title(variant)) + "\n\n";
    MarkdownTable table({{"allocation"}, {"where"}, {"phase"}, {"count"}, {"bytes"}}, kMarkdownLimit);
    for (const ExplainedAllocation& one : variant.explanation.allocations) {
      table.add({one.name, variant.site(one.where), phase_name(one.phase),
                 to_text(*one.count.formula, ExpressionStyle::display),
                 to_text(*one.bytes.formula, ExpressionStyle::display)});
    }
    text += table.text() +
            "\npeak = " + markdown_cell(to_text(*variant.explanation.peak(), ExpressionStyle::display)) +
            "\n\n";
  }
  for (const std::string& line : origin(variants, context, options)) text += markdown_cell(line) + "\n";
  return text;
}

std::string latex_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\\' || c == '^' || c == '~' ? ' ' : c;
  }
  return escaped;
}

std::string latex(const std::vector<VariantFormulas>& variants, const RunContext& context,
                  const EmitOptions& options) {
  std::string text;
  for (const std::string& line : origin(variants, context, options)) text += "% " + one_line(line) + "\n";
  for (const VariantFormulas& variant : variants) {
    text += fmt::format("\\paragraph{{{}}}\n\\begin{{tabular}}{{lll}}\n", latex_text(title(variant)));
    for (const ExplainedAllocation& one : variant.explanation.allocations) {
      text += fmt::format(
          "{} & {} & ${}$ \\\\\n", latex_text(one.name), latex_text(phase_name(one.phase)),
          to_text(Expression::multiply({*one.count.formula, *one.bytes.formula}), ExpressionStyle::latex));
    }
    text += fmt::format("\\end{{tabular}}\n\\[ \\mathrm{{peak}} = {} \\]\n",
                        to_text(*variant.explanation.peak(), ExpressionStyle::latex));
  }
  return text;
}

}  // namespace
}  // namespace emitting

EmitForm parse_emit_form(const std::string& name) {
  if (name == "python") return EmitForm::python;
  if (name == "cpp") return EmitForm::cpp;
  if (name == "toml") return EmitForm::toml;
  if (name == "latex") return EmitForm::latex;
  if (name == "markdown") return EmitForm::markdown;
  throw UsageError(fmt::format("--emit {}: unknown form; write python, cpp, toml, latex or markdown", name));
}

std::string emit(const std::vector<VariantFormulas>& variants, const RunContext& context,
                 const EmitOptions& options) {
  using namespace emitting;
  for (const VariantFormulas& variant : variants) check_variant_formulas(variant);
  if (options.form != EmitForm::markdown && options.form != EmitForm::latex) check_backends(variants);
  switch (options.form) {
    case EmitForm::python:
      return python_module(variants, context, options);
    case EmitForm::cpp:
      return cpp(variants, context, options);
    case EmitForm::toml:
      return toml(variants, context, options);
    case EmitForm::latex:
    case EmitForm::markdown:
      for (const VariantFormulas& variant : variants) {
        if (!variant.is_explained())
          throw UsageError(variant.variant + ": not all allocations have a formula, so no page is written");
      }
      return options.form == EmitForm::latex ? latex(variants, context, options)
                                             : markdown(variants, context, options);
  }
  return "";
}

}  // namespace peakmark
