#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/dtype.hpp"
#include "explain/emit_inside.hpp"

namespace peakmark::emitting {
namespace {

std::string in_docstring(std::string text) {
  std::erase(text, '\\');
  std::ranges::replace(text, '"', '\'');
  return text;
}

bool reads(const std::vector<VariantFormulas>& variants, Expression::Operation operation) {
  const std::function<bool(const Expression&)> has = [&](const Expression& expression) {
    return expression.operation() == operation || std::ranges::any_of(expression.operands(), has);
  };
  return std::ranges::any_of(variants,
                             [&](const VariantFormulas& one) { return has(*one.explanation.peak()); });
}

bool has_axis(const std::vector<VariantFormulas>& variants, std::string_view name) {
  return std::ranges::any_of(variants, [&](const VariantFormulas& one) {
    return std::ranges::find(one.shapes().axes, name, &Shapes::Axis::name) != one.shapes().axes.end();
  });
}

constexpr std::string_view kNextPow2 = R"(

def next_pow2(x):
    """Returns the smallest power of two that is x or more."""
    return 1 << max(x - 1, 0).bit_length()
)";

constexpr std::string_view kNextSmooth = R"(

def next_smooth(x, largest_prime):
    """Returns the smallest integer that is x or more and has no prime factor above largest_prime."""
    x = max(x, 1)
    while True:
        rest = x
        for prime in (2, 3, 5, 7, 11, 13):
            while prime <= largest_prime and rest % prime == 0:
                rest //= prime
        if rest == 1:
            return x
        x += 1
)";

std::string function(const VariantFormulas& variant, const std::string& name) {
  const Expression peak = *variant.explanation.peak();
  std::vector<Expression> formulas;
  for (const PeakMoment& moment : variant.explanation.moments) formulas.push_back(moment.bytes);
  const auto lengths = used_lengths(find_named_lengths(formulas), formulas);
  std::string text = fmt::format("\n\ndef {}({}):\n", name, fmt::join(used_axes(variant), ", "));
  for (const NamedLength& one : lengths)
    text += fmt::format("    {} = {}\n", one.name, to_text(one.length, ExpressionStyle::python));
  if (formulas.size() == 1) {
    return text + fmt::format("    return {}\n", to_text(with_names(peak, lengths), ExpressionStyle::python));
  }
  text += "    return max(\n";
  for (const Expression& formula : formulas)
    text += fmt::format("        {},\n", to_text(with_names(formula, lengths), ExpressionStyle::python));
  return text + "    )\n";
}

std::string words_of(const VariantFormulas& variant) {
  std::string text;
  for (const WordSet& set : variant.words) {
    std::string words;
    for (const std::string& word : set.words) words += quoted(word) + ", ";
    text += fmt::format("{}{}: ({})", text.empty() ? "" : ", ", quoted(set.axis),
                        words.substr(0, words.size() - 1));
  }
  return "{" + text + "}";
}

std::string numpy_names() {
  std::string text;
  for (const DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64,
                            DType::i64, DType::f32, DType::f64, DType::c64, DType::c128})
    text += fmt::format("    \"{}\": (\"{}\", {}),\n", numpy_name(dtype), to_string(dtype), size_of(dtype));
  return text;
}

std::string peak_function(const std::vector<VariantFormulas>& variants, bool has_variants,
                          int margin_percent) {
  const bool has_item_size = has_axis(variants, "itemsize");
  std::string text = fmt::format("\n\ndef peak_bytes({}**axes) -> int:\n", has_variants ? "variant, " : "");
  text += "    \"\"\"Returns the peak of device memory in bytes; axes are named as in the suite.\"\"\"\n";
  if (has_item_size) {
    text +=
        "    if \"itemsize\" not in axes and \"dtype\" in axes:\n"
        "        dtype = str(axes[\"dtype\"])\n"
        "        sizes = {name: size for names in _DTYPES.items() for name, size in ((names[0], "
        "names[1][1]), names[1])}\n"
        "        axes[\"itemsize\"] = sizes[dtype]\n";
  }
  text += "    for of_variant, words, names, formula in _FORMULAS:\n";
  if (has_variants) text += "        if of_variant != variant:\n            continue\n";
  text +=
      "        if all(axes.get(axis, known[0] if len(known) == 1 else None) in known for axis, known in "
      "words.items()):\n"
      "            missing = [name for name in names if name not in axes]\n"
      "            if missing:\n"
      "                raise TypeError(f\"{of_variant}: no value for {', '.join(missing)}\")\n"
      "            bytes_ = formula(*(int(axes[name]) for name in names))\n";
  text += margin_percent == 0
              ? "            return bytes_\n"
              : fmt::format("            return bytes_ - (-bytes_ * {} // 100)  # margin of {} %\n",
                            margin_percent, margin_percent);
  text += has_variants ? "    raise ValueError(f\"no formula for {variant} with {axes}\")\n"
                       : "    raise ValueError(f\"no formula for {axes}\")\n";
  return text;
}

// The dtype of the output where it is the same in all cases and no axis decides; else that of the input.
std::string output_dtype(const std::vector<VariantFormulas>& variants) {
  std::set<std::string> dtypes;
  for (const VariantFormulas& variant : variants) {
    for (const RecordedCases& cases : variant.cases) {
      for (const Observation* const observation : cases.observations) {
        if (observation->axes.find("dtype") != nullptr) return "dtype";
        dtypes.insert(observation->output_dtype.value_or(""));
      }
    }
  }
  if (dtypes.size() != 1 || dtypes.begin()->empty()) return "dtype";
  return fmt::format("np.dtype(\"{}\")", numpy_name(parse_dtype(*dtypes.begin())));
}

std::string slices_function(const std::vector<VariantFormulas>& variants, bool has_variants,
                            const EmitOptions& options) {
  const std::string slices = slice_axis(variants.front(), options);
  std::vector<std::string> others;
  for (const Shapes::Axis& axis : variants.front().shapes().axes) {
    if (axis.name != slices && axis.name != "itemsize" && others.size() < 2) others.push_back(axis.name);
  }
  if (slices.empty() || others.size() < 2) return "";
  std::string dtype;
  const auto& words = variants.front().words;
  if (has_axis(variants, "itemsize") || std::ranges::find(words, "dtype", &WordSet::axis) != words.end())
    dtype = "    axes[\"dtype\"] = _DTYPES[np.dtype(dtype).name][0]\n";
  const std::string variant = has_variants ? "variant, " : "";
  return fmt::format(
      R"(

def calc_max_slices(slice_dimension, other_dimensions, dtype, available_bytes, {3}**parameters):
    """httomo's form: returns how many slices along {0} fit into available_bytes, and the output's dtype.

    other_dimensions: {1} and {2}."""
    import numpy as np

    axes = dict(parameters, {1}=other_dimensions[0], {2}=other_dimensions[1])
{4}    def fits(slices):
        return peak_bytes({3}**{{**axes, "{0}": slices}}) <= available_bytes

    if not fits(1):
        return 0, {5}
    low, high = 1, 2
    while high <= 2**31 and fits(high):  # no stack has more slices
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low, {5}
)",
      slices, others[0], others[1], variant, dtype.empty() ? "\n" : dtype + "\n", output_dtype(variants));
}

}  // namespace

std::string python_module(const std::vector<VariantFormulas>& variants, const RunContext& context,
                          const EmitOptions& options) {
  std::set<std::string> names;
  for (const VariantFormulas& variant : variants) names.insert(variant.variant);
  const bool has_variants = names.size() > 1;
  std::string text =
      "\"\"\"" + in_docstring(fmt::format("Device memory of {}.", fmt::join(names, ", "))) + "\n\n";
  for (const std::string& line : origin(variants, context, options)) text += in_docstring(line) + "\n";
  text += "\"\"\"\n";
  if (reads(variants, Expression::Operation::next_pow2)) text += kNextPow2;
  if (reads(variants, Expression::Operation::next_smooth)) text += kNextSmooth;
  std::string table;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string name = fmt::format("_bytes_{}", i + 1);
    text += function(variants[i], name);
    std::string axes;
    for (const std::string& axis : used_axes(variants[i])) axes += quoted(axis) + ", ";
    if (!axes.empty()) axes.pop_back();
    table += fmt::format("    ({}, {}, ({}), {}),\n", quoted(variants[i].variant), words_of(variants[i]),
                         axes, name);
  }
  text += "\n\n# Variant, words with which a formula is right, its axes, and the formula.\n_FORMULAS = [\n" +
          table + "]\n";
  const std::string slices = slices_function(variants, has_variants, options);
  if (has_axis(variants, "itemsize") || slices.find("_DTYPES") != std::string::npos)
    text += "\n# numpy's name of a dtype: peakmark's name, bytes of an element.\n_DTYPES = {\n" +
            numpy_names() + "}\n";
  return text + peak_function(variants, has_variants, options.margin_percent) + slices;
}

}  // namespace peakmark::emitting
