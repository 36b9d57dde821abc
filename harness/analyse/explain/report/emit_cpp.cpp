#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analyse/explain/report/emit_parts.hpp"
#include "base/text.hpp"

namespace peakmark::emitting {
namespace {

struct Part {
  std::string name;
  LinearFormula bytes;
};

// Returns the parts of a peak; empty if it is not a sum of parts.
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

// Returns the condition on words and dtype under which a formula is valid; empty if there is none.
std::string cpp_condition(const VariantFormulas& variant) {
  std::string text;
  for (const WordSet& set : recorded_words(variant)) {
    const bool is_word = std::holds_alternative<std::string>(set.words.front());
    text += fmt::format("{}is_one_of(c.{}({}), {{{}}})", text.empty() ? "" : " && ",
                        is_word ? "word" : "real", quoted(set.axis), literals(set.words));
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
    text += axis == kItemSizeAxis ? "      const Checked itemsize = bytes_of_element(c.word(\"dtype\"));\n"
                                  : fmt::format("      const Checked {} = c[\"{}\"];\n", axis, axis);
  }
  return text;
}

// Returns the value of a formula of Checked axes as C++ code.
std::string cpp_number(const Expression& formula) {
  const std::string text = to_text(formula, ExpressionStyle::cpp);
  return formula.operation() == Expression::Operation::integer ? text : "Size(" + text + ")";
}

// Returns the estimator of a variant: a formula for each combination of words.
std::string cpp_estimator(const std::vector<const VariantFormulas*>& formulas, const EmitOptions& options,
                          std::size_t number) {
  std::vector<std::vector<Part>> parts_of_formulas;
  for (const VariantFormulas* const one : formulas) parts_of_formulas.push_back(parts(*one, options));
  const bool has_parts =
      std::ranges::none_of(parts_of_formulas, [](const std::vector<Part>& one) { return one.empty(); });
  std::string text = fmt::format(
      "/// {}\ninline Estimator explained_{}([[maybe_unused]] bool strict = false) {{\n  return "
      "Estimator::{}([=](const "
      "Case& c) -> {} {{\n",
      formulas.front()->variant, number, has_parts ? "of_parts" : "of_bytes",
      has_parts ? "std::vector<Part>" : "Size");
  std::string recorded;
  bool is_for_all = false;
  for (std::size_t i = 0; i < formulas.size(); ++i) {
    const VariantFormulas* const one = formulas[i];
    const std::string condition = cpp_condition(*one);
    is_for_all = condition.empty();
    text += is_for_all ? "    {\n" : fmt::format("    if ({}) {{\n", condition);
    text += cpp_axes(*one, has_parts ? slice_axis(*one, options) : "");
    if (has_parts) {
      text += "      return {\n";
      for (const Part& part : parts_of_formulas[i])
        text += fmt::format("          {{{}, {}, {}}},\n", quoted(part.name),
                            cpp_number(part.bytes.per_slice), cpp_number(part.bytes.fixed));
      text += "      };\n";
    } else if (options.margin_percent == 0) {
      text += fmt::format("      return {};\n", cpp_number(*one->explanation.peak()));
    } else {
      text += fmt::format(
          "      const Checked bytes = {};\n      return Size(bytes + ceil_div(bytes * {}, 100));\n",
          to_text(*one->explanation.peak(), ExpressionStyle::cpp), options.margin_percent);
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
template <typename Value>
bool is_one_of(const Value& value, const std::vector<Value>& recorded) {
  return std::find(recorded.begin(), recorded.end(), value) != recorded.end();
}
/// A number whose arithmetic throws std::overflow_error where 64 bits are too few, and std::domain_error for
/// a division by 0 or less. Divisions round down.
class Checked {
 public:
  Checked(Size value) : value_(value) {}
  explicit operator Size() const { return value_; }
  friend Checked operator+(Checked a, Checked b) {
    Size sum = 0;
    if (__builtin_add_overflow(a.value_, b.value_, &sum)) overflow();
    return sum;
  }
  friend Checked operator-(Checked a, Checked b) {
    Size difference = 0;
    if (__builtin_sub_overflow(a.value_, b.value_, &difference)) overflow();
    return difference;
  }
  friend Checked operator*(Checked a, Checked b) {
    Size product = 0;
    if (__builtin_mul_overflow(a.value_, b.value_, &product)) overflow();
    return product;
  }
  friend Checked operator%(Checked a, Checked b) {
    if (b.value_ <= 0) throw std::domain_error("division by 0 or less");
    const Size rest = a.value_ % b.value_;
    return rest < 0 ? rest + b.value_ : rest;
  }
  friend Checked operator/(Checked a, Checked b) {
    const Size rest = (a % b).value_;
    return a.value_ / b.value_ - (a.value_ < 0 && rest != 0 ? 1 : 0);
  }
  friend Checked operator-(Checked a) { return 0 - a; }
  friend bool operator<(Checked a, Checked b) { return a.value_ < b.value_; }
  friend bool operator==(Checked a, Checked b) { return a.value_ == b.value_; }

 private:
  [[noreturn]] static void overflow() { throw std::overflow_error("a size does not fit 64 bits"); }
  Size value_;
};
inline Checked ceil_div(Checked a, Checked b) {
  return a / b + (a % b == 0 ? 0 : 1);
}
inline Checked next_pow2(Checked x) {
  Checked power = 1;
  while (power < x) power = power * 2;
  return power;
}
inline Checked next_smooth(Checked x, Size largest_prime) {
  for (x = std::max<Checked>(x, 1);; x = x + 1) {
    Size rest = Size(x);
    for (Size prime = 2; prime <= largest_prime; ++prime) {
      while (rest % prime == 0) rest /= prime;
    }
    if (rest == 1) return x;
  }
}
)";

// Returns a function with the recorded dtypes.
std::string cpp_dtypes(const std::vector<VariantFormulas>& variants) {
  std::set<std::string> recorded;
  for (const VariantFormulas& variant : variants) {
    const auto axes = used_axes(variant);
    if (std::ranges::find(axes, kItemSizeAxis) == axes.end()) continue;
    for (const WordSet& set : recorded_words(variant)) {
      if (set.axis != "dtype") continue;
      for (const AxisValue& word : set.words) recorded.insert(to_text(word));
    }
  }
  if (recorded.empty()) return "";
  std::string text = "inline Size bytes_of_element(const std::string& dtype) {\n";
  for (const std::string& dtype : recorded)
    text += fmt::format("  if (dtype == {}) return {};\n", quoted(dtype), size_of(parse_dtype(dtype)));
  return text + "  throw std::invalid_argument(\"dtype \" + dtype + \" was not recorded\");\n}\n";
}

}  // namespace

std::string cpp_header(const std::vector<VariantFormulas>& variants, const RunContext& context,
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

}  // namespace peakmark::emitting
