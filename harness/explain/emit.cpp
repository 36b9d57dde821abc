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
    std::vector<std::string> ranges;
    for (const Shapes::Axis& axis : variant.shapes().axes) {
      const auto [min, max] = std::ranges::minmax(axis.values);
      ranges.push_back(min == max ? fmt::format("{} {}", axis.name, min)
                                  : fmt::format("{} {} to {}", axis.name, min, max));
    }
    const std::string words = variant.words_text();
    lines.push_back(fmt::format("{}{}: {} fitted, {} held out, 0 bytes off; {}.", variant.variant,
                                words.empty() ? "" : " " + words,
                                quantity(variant.explanation.fitted, "shape"), variant.explanation.held_out,
                                fmt::join(ranges, ", ")));
  }
  if (options.margin_percent > 0)
    lines.push_back(fmt::format("A margin of {} % is added to each peak.", options.margin_percent));
  return lines;
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

// ---- C++

// Bytes a slice and fixed bytes of a formula; nothing if it is neither proportional to the slices nor free of
// them.
struct Part {
  std::string name;
  Expression per_slice;
  Expression fixed;
};

std::optional<Part> split_by_slices(const std::string& name, const Expression& formula,
                                    const std::string& slices) {
  std::vector<Expression> per_slice;
  std::vector<Expression> fixed;
  for (ExpressionTerm term : terms(formula)) {
    const auto factor = std::ranges::find(term.factors, Expression::axis(slices));
    const bool has_slices = factor != term.factors.end();
    if (has_slices) term.factors.erase(factor);
    for (const Expression& other : term.factors) {
      const auto axes = other.axes();
      if (std::ranges::find(axes, slices) != axes.end()) return std::nullopt;
    }
    (has_slices ? per_slice : fixed).push_back(term.expression());
  }
  return Part{name, Expression::add(std::move(per_slice)), Expression::add(std::move(fixed))};
}

std::optional<std::vector<Part>> parts(const VariantFormulas& variant, const EmitOptions& options) {
  const std::vector<PeakMoment>& moments = variant.explanation.moments;
  const std::string slices = slice_axis(variant, options);
  if (moments.size() != 1 || !moments.front().is_sum_of_terms || slices.empty() || options.margin_percent > 0)
    return std::nullopt;
  std::vector<Part> all;
  for (std::size_t i = 0; i < moments.front().terms.size(); ++i) {
    const ExplainedAllocation& allocation = variant.explanation.allocations[moments.front().allocations[i]];
    auto part = split_by_slices(allocation.name, moments.front().terms[i], slices);
    if (!part) return std::nullopt;
    all.push_back(std::move(*part));
  }
  return all;
}

std::string cpp_text(const Expression& formula) {
  return to_text(formula, ExpressionStyle::cpp);
}

bool reads(const Expression& expression, Expression::Operation operation) {
  return expression.operation() == operation ||
         std::ranges::any_of(expression.operands(),
                             [&](const Expression& one) { return reads(one, operation); });
}

std::string cpp_estimator(const VariantFormulas& variant, const EmitOptions& options, std::size_t number) {
  const Expression peak = *variant.explanation.peak();
  const auto split = parts(variant, options);
  std::string body;
  const std::string slices = slice_axis(variant, options);
  for (const std::string& axis : used_axes(variant)) {
    if (split && axis == slices) continue;
    body += axis == "itemsize" ? "    const Size itemsize = bytes_of_element(c.word(\"dtype\"));\n"
                               : fmt::format("    const Size {} = c[\"{}\"];\n", axis, axis);
  }
  std::string text = fmt::format("/// {} {}\ninline Estimator explained_{}() {{\n", variant.variant,
                                 variant.words_text(), number);
  if (split) {
    text +=
        "  return Estimator::of_parts([](const Case& c) -> std::vector<Part> {\n" + body + "    return {\n";
    for (const Part& part : *split)
      text += fmt::format("        {{\"{}\", {}, {}}},\n", part.name, cpp_text(part.per_slice),
                          cpp_text(part.fixed));
    return text + "    };\n  });\n}\n";
  }
  text += "  return Estimator::of_bytes([](const Case& c) -> Size {\n" + body;
  if (options.margin_percent == 0) return text + fmt::format("    return {};\n  }});\n}}\n", cpp_text(peak));
  return text + fmt::format(
                    "    const Size bytes = {};\n    return bytes + ceil_div(bytes * {}, 100);\n  }});\n}}\n",
                    cpp_text(peak), options.margin_percent);
}

constexpr std::string_view kCppFunctions = R"(inline Size ceil_div(Size a, Size b) {
  return a / b + (a % b != 0 ? 1 : 0);
}
inline Size next_pow2(Size x) {
  Size power = 1;
  while (power < x) power *= 2;
  return power;
}
inline Size next_smooth(Size x, Size largest_prime) {
  for (x = x < 1 ? 1 : x;; ++x) {
    Size rest = x;
    for (Size prime = 2; prime <= largest_prime; ++prime) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) return x;
  }
}
)";

std::string cpp(const std::vector<VariantFormulas>& variants, const RunContext& context,
                const EmitOptions& options) {
  std::string text;
  for (const std::string& line : origin(variants, context, options)) text += "// " + one_line(line) + "\n";
  text +=
      "#pragma once\n\n#include <algorithm>\n#include <peakmark/worker.hpp>\n#include <string>\n#include "
      "<vector>\n\n"
      "namespace explained {\n\nusing namespace peakmark;\n\n";
  text += kCppFunctions;
  if (std::ranges::any_of(variants, [](const auto& one) {
        const auto axes = used_axes(one);
        return std::ranges::find(axes, "itemsize") != axes.end();
      }))
    text +=
        "/// `f32` and `u16` have 32 and 16 bits.\ninline Size bytes_of_element(const std::string& dtype) "
        "{\n  return "
        "std::stoll(dtype.substr(1)) / 8;\n}\n";
  for (std::size_t i = 0; i < variants.size(); ++i) text += "\n" + cpp_estimator(variants[i], options, i + 1);
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
    for (const WordSet& set : variant.words) {
      std::vector<std::string> words;
      words.reserve(set.words.size());
      for (const std::string& word : set.words) words.push_back(quoted(word));
      const std::string list = fmt::format("{}", fmt::join(words, ", "));
      when += fmt::format(", {} = {}", set.axis, words.size() == 1 ? list : "[" + list + "]");
    }
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
