#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "analyse/explain/report/emit_parts.hpp"
#include "analyse/explain/search/formula_algebra.hpp"
#include "base/dtype.hpp"
#include "base/error.hpp"

namespace peakmark::emitting {
namespace {

std::string in_docstring(std::string text) {
  std::erase(text, '\\');
  std::ranges::replace(text, '"', '\'');
  return text;
}

bool reads(const std::vector<VariantFormulas>& variants, Expression::Operation operation) {
  return std::ranges::any_of(variants, [&](const VariantFormulas& one) {
    const std::vector<Expression> all = parts(*one.explanation.peak());
    return std::ranges::find(all, operation, &Expression::operation) != all.end();
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
  const auto lengths = find_named_lengths(formulas);
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

// Returns the words of a variant, and the axes with a single value; without an axis `dtype`, the dtype that
// the user states.
std::string words_of(const VariantFormulas& variant, DType dtype) {
  std::vector<WordSet> sets = recorded_words(variant);
  if (std::ranges::find(sets, "dtype", &WordSet::axis) == sets.end())
    sets.push_back({"dtype", {std::string(to_string(dtype))}});
  std::string text;
  for (const WordSet& set : sets) {
    std::vector<AxisValue> words = set.words;
    if (set.axis == "dtype")
      std::ranges::transform(words, words.begin(),
                             [](const AxisValue& word) { return our_dtype_name(to_text(word)); });
    text += fmt::format("{}{}: ({},)", text.empty() ? "" : ", ", quoted(set.axis), literals(words));
  }
  for (const auto& [axis, value] : constant_axes(variant))
    text += fmt::format(", {}: ({},)", quoted(axis), value);
  return "{" + text + "}";
}

std::string numpy_names() {
  std::string text;
  for (const DType dtype : {DType::u8, DType::i8, DType::u16, DType::i16, DType::u32, DType::i32, DType::u64,
                            DType::i64, DType::f32, DType::f64, DType::c64, DType::c128})
    text += fmt::format("    \"{}\": (\"{}\", {}),\n", numpy_name(dtype), to_string(dtype), size_of(dtype));
  return text;
}

// Python code that finds the formula of a case.
constexpr std::string_view kPeakBytes = R"(

def _dtype(dtype):
    """Returns peakmark's name of a dtype: f32 of numpy's float32."""
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    return _DTYPES.get(name, (name,))[0]


def _recorded_bytes(variant, axes, strict=None):
    """strict: at longer axes than the formula was tested at True raises, False warns, None does neither."""
    if "dtype" in axes:
        axes = {**axes, "dtype": _dtype(axes["dtype"])}
    known_words = {}
    for of_variant, words, names, formula in _FORMULAS:
        if of_variant != variant:
            continue
        has = {axis: axes.get(axis, known[0] if len(known) == 1 else None) for axis, known in words.items()}
        for axis, known in words.items():
            known_words.setdefault(axis, []).extend(word for word in known if word not in known_words.get(axis, []))
        if all(has[axis] in known for axis, known in words.items()):
            if "itemsize" in names:
                axes = {**axes, "itemsize": _ITEM_SIZES[has["dtype"]]}
            if missing := [name for name in names if name not in axes]:
                raise TypeError(f"{variant}: no value for {', '.join(missing)}")
            if beyond := [f'{name}={axes[name]} (recorded to {names[name]})' for name in names
                          if strict is not None and int(axes[name]) > names[name]]:
                text = f"{variant}: the formula was not tested at {', '.join(beyond)}; record such a shape"
                if strict:
                    raise ValueError(text)
                warnings.warn(text, stacklevel=3)
            return formula(*(int(axes[name]) for name in names))
    for axis, known in known_words.items():
        if axis in axes and axes[axis] not in known:
            raise ValueError(f"{variant}: no formula for {axis}={axes[axis]}: it was not recorded; recorded: {', '.join(map(str, known))}")
        if axis not in axes and len(known) > 1:
            raise TypeError(f"{variant}: no value for {axis}; recorded: {', '.join(map(str, known))}")
    given = ", ".join(f"{axis}={axes[axis]}" for axis in known_words if axis in axes)
    raise ValueError(f"{variant}: no formula for {given or 'this variant'}: it was not recorded")
)";

std::string peak_function(const std::vector<VariantFormulas>& variants, bool has_variants,
                          int margin_percent) {
  std::string text(kPeakBytes);
  text += fmt::format(
      "\n\ndef peak_bytes({}*, strict=False, **axes) -> int:\n"
      "    \"\"\"Returns the peak of device memory in bytes; axes are named as in the suite. Raises "
      "ValueError for a\n"
      "    word or dtype that was not recorded. Warns if an axis is longer than recorded; strict: raises "
      "ValueError.\"\"\"\n",
      has_variants ? "variant, " : "");
  const std::string call = fmt::format("_recorded_bytes({}, axes, strict)",
                                       has_variants ? "variant" : quoted(variants.front().variant));
  if (margin_percent == 0) return text + fmt::format("    return {}\n", call);
  return text + fmt::format(
                    "    return _with_margin({})\n\n\ndef _with_margin(size):\n    return size - (-size * {} "
                    "// 100)  "
                    "# {} % more, rounded up\n",
                    call, margin_percent, margin_percent);
}

// Adds numpy's names of output dtypes, by our names of the input dtype, if the two differ.
using OutputDtypes = std::map<std::string, std::string>;

void add_output_dtypes(const VariantFormulas& variant, DType stated, OutputDtypes& outputs) {
  for (const RecordedCases& cases : variant.cases) {
    for (const Observation* const one : cases.observations) {
      if (!one->output_dtype) continue;
      const AxisValue* const axis = one->axes.find("dtype");
      const std::string input =
          axis == nullptr ? std::string(to_string(stated)) : our_dtype_name(to_text(*axis));
      const std::string output = our_dtype_name(*one->output_dtype);
      if (output != input) outputs[input] = numpy_dtype_name(output);
    }
  }
}

// A variant in httomo's forms.
struct SlicedVariant {
  std::string variant;
  std::string slices;
  std::vector<std::string> others;  // two axes, for other_dimensions
  OutputDtypes outputs;
  std::string method;      // the name in `_calc_memory_bytes_NAME`
  bool is_linear = false;  // has bytes per slice and fixed bytes
};

// Returns whether every moment is bytes per slice times the slices plus fixed bytes: the peak is then the
// maximum of several lines, whose slope never decreases.
bool is_linear(const VariantFormulas& variant, const std::string& slices) {
  return std::ranges::all_of(variant.explanation.moments, [&](const PeakMoment& moment) {
    return split_by_slices(moment.bytes, slices).has_value();
  });
}

std::string identifier(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_letter || (!name.empty() && name.back() != '_')) name += is_letter ? c : '_';
  }
  return name;
}

// Returns `filter` for `filter/stripes`.
std::string operation(const std::string& variant) {
  return variant.substr(0, variant.find('/'));
}

std::vector<std::string> find_others(const VariantFormulas& variant, const std::string& slices,
                                     const EmitOptions& options) {
  const auto& axes = variant.shapes().axes;
  if (options.other_dimensions.empty()) {
    std::vector<std::string> others;
    for (const Shapes::Axis& axis : axes) {
      if (axis.name != slices && axis.name != kItemSizeAxis && others.size() < 2) others.push_back(axis.name);
    }
    return others;
  }
  for (const std::string& other : options.other_dimensions) {
    if (std::ranges::find(axes, other, &Shapes::Axis::name) == axes.end() || other == slices)
      throw UsageError(
          fmt::format("--other-dimensions: {} has no integer axis '{}' besides its slices; an emitted "
                      "estimator needs axes here, not formulas",
                      variant.variant, other));
  }
  return options.other_dimensions;
}

std::vector<SlicedVariant> sliced_variants(const std::vector<VariantFormulas>& variants,
                                           const EmitOptions& options) {
  std::vector<SlicedVariant> all;
  std::map<std::string, int> variants_of_method;
  for (const VariantFormulas& variant : variants) {
    const std::string slices = slice_axis(variant, options);
    const std::vector<std::string> others = find_others(variant, slices, options);
    if (slices.empty() || others.size() < 2) continue;
    auto same = std::ranges::find(all, variant.variant, &SlicedVariant::variant);
    if (same == all.end()) {
      same = all.insert(all.end(), {variant.variant, slices, others, {}, operation(variant.variant), true});
      ++variants_of_method[same->method];
    }
    same->is_linear = same->is_linear && is_linear(variant, slices);
    add_output_dtypes(variant, options.dtype, same->outputs);
  }
  for (SlicedVariant& one : all)
    one.method = identifier(variants_of_method[one.method] == 1 ? one.method : one.variant);
  return all;
}

constexpr std::string_view kSlices = R"(

def _axes(variant, slices, other_dimensions, dtype, parameters):
    slice_axis, others, _outputs = _SLICES[variant]
    axes = dict(parameters, dtype=dtype)
    axes[slice_axis] = slices
    axes.update(zip(others, other_dimensions))
    if [axes[name] for name in others] != list(other_dimensions):
        raise ValueError(f"{variant}: {others[0]} is both {other_dimensions[0]} and {other_dimensions[1]}")
    return axes
)";

constexpr std::string_view kMaxSlices = R"(

def calc_max_slices(slice_dimension, other_dimensions, dtype, available_bytes, {argument}*, strict=False, **parameters):
    """The form that httomo documents: returns how many slices fit into available_bytes, and the dtype of the output."""
    output = _SLICES[{variant}][2].get(_dtype(dtype))
    if output is None:
        output = dtype
    else:
        import numpy as np

        output = np.dtype(output)

    def bytes_of(slices, strict):
        axes = _axes({variant}, slices, other_dimensions, dtype, parameters)
        return peak_bytes({call}strict=strict, **axes)

    def fits(slices):
        return bytes_of(slices, None) <= available_bytes

    if not fits(1):
        return 0, output
    low, high = 1, 2
    while high <= 2**31 and fits(high):  # no stack has more slices
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    bytes_of(low, strict)  # warns
    return low, output
)";

constexpr std::string_view kForSlices = R"(

def _calc_memory_bytes_for_slices_{method}(dims_shape, dtype, **kwargs) -> int:
    """httomo 3, `method: iterative`: bytes of a block of dims_shape = ({slices}, {first}, {second})."""
    return peak_bytes({call}**_axes({variant}, dims_shape[0], tuple(dims_shape[1:]), dtype, kwargs))
)";

constexpr std::string_view kPerSlice = R"(

def _calc_memory_bytes_{method}(non_slice_dims_shape, dtype, **kwargs):
    """httomo 3, `method: module`: bytes per slice and fixed bytes, of non_slice_dims_shape = ({first}, {second}).

    They are the peak; where its bytes per slice grow with the slices, at least the peak."""
    one, many, more = (
        _recorded_bytes({variant}, _axes({variant}, slices, tuple(non_slice_dims_shape), dtype, kwargs),
                        False if slices == 1 else None)
        for slices in (1, 2**40, 2**40 + 1)
    )
    per_slice = more - many
    return {per_slice}, {fixed}
)";

std::string slices_functions(const std::vector<SlicedVariant>& variants, bool has_variants,
                             const EmitOptions& options) {
  if (variants.empty())
    return "\n\n# No form of httomo: it needs an axis of slices (--slice-axis) and two others "
           "(--other-dimensions).\n";
  std::string text =
      "\n\n# Axes in httomo's forms: the slices, the other two dimensions; outputs whose dtype is not "
      "that of the input.\n_SLICES = {\n";
  for (const SlicedVariant& one : variants) {
    std::string outputs;
    for (const auto& [input, output] : one.outputs)
      outputs += fmt::format("{}{}: {}", outputs.empty() ? "" : ", ", quoted(input), quoted(output));
    text += fmt::format("    {}: ({}, ({}, {}), {{{}}}),\n", quoted(one.variant), quoted(one.slices),
                        quoted(one.others[0]), quoted(one.others[1]), outputs);
  }
  text += "}\n";
  text += kSlices;
  const std::string only = quoted(variants.front().variant);
  const auto filled = [&](std::string_view pattern, const SlicedVariant& one) {
    return fmt::format(
        fmt::runtime(pattern), fmt::arg("method", one.method), fmt::arg("slices", one.slices),
        fmt::arg("first", one.others[0]), fmt::arg("second", one.others[1]),
        fmt::arg("variant", quoted(one.variant)),
        fmt::arg("call", has_variants ? quoted(one.variant) + ", " : ""),
        fmt::arg("per_slice", options.margin_percent == 0 ? "per_slice" : "_with_margin(per_slice)"),
        fmt::arg("fixed", options.margin_percent == 0 ? "max(0, one - per_slice)"
                                                      : "_with_margin(max(0, one - per_slice))"));
  };
  text += fmt::format(fmt::runtime(kMaxSlices), fmt::arg("argument", has_variants ? "variant, " : ""),
                      fmt::arg("variant", has_variants ? "variant" : only),
                      fmt::arg("call", has_variants ? "variant, " : ""));
  for (const SlicedVariant& one : variants) {
    text += filled(kForSlices, one);
    text += one.is_linear ? filled(kPerSlice, one)
                          : fmt::format(
                                "\n\n# No _calc_memory_bytes_{}: its bytes are not fixed bytes plus bytes "
                                "per slice; write `method: iterative`.\n",
                                one.method);
  }
  return text;
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
  text += "\"\"\"\n\nimport warnings\n";
  if (reads(variants, Expression::Operation::next_pow2)) text += kNextPow2;
  if (reads(variants, Expression::Operation::next_smooth)) text += kNextSmooth;
  std::string table;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string name = fmt::format("_bytes_{}", i + 1);
    text += function(variants[i], name);
    std::vector<std::string> axes;
    for (const auto& [axis, longest] : longest_recorded(variants[i]))
      axes.push_back(fmt::format("{}: {}", quoted(axis), longest));
    table += fmt::format("    ({}, {}, {{{}}}, {}),\n", quoted(variants[i].variant),
                         words_of(variants[i], options.dtype), fmt::join(axes, ", "), name);
  }
  text +=
      "\n\n# Variant, words and axes of one value with which a formula is right, its axes with their largest "
      "recorded values, and the formula.\n_FORMULAS = [\n" +
      table + "]\n";
  const std::vector<SlicedVariant> sliced = sliced_variants(variants, options);
  text += "\n# numpy's name of a dtype: peakmark's name, bytes of an element.\n_DTYPES = {\n" +
          numpy_names() + "}\n_ITEM_SIZES = dict(_DTYPES.values())\n";
  return text + peak_function(variants, has_variants, options.margin_percent) +
         slices_functions(sliced, has_variants, options);
}

}  // namespace peakmark::emitting
