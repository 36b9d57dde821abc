#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/explain/report/emit.hpp"
#include "analyse/explain/search/formula_algebra.hpp"

// Functions that the writers of estimators share.
namespace peakmark::emitting {

/// Returns lines with the origin of formulas: run, device, versions and shapes.
std::vector<std::string> origin(const std::vector<VariantFormulas>& variants, const RunContext& context,
                                const EmitOptions& options);

/// Returns the axis along which slices are counted; empty if the variant has none.
std::string slice_axis(const VariantFormulas& variant, const EmitOptions& options);

/// Returns the axes that the peak of a variant reads, in the order of its axes.
std::vector<std::string> used_axes(const VariantFormulas& variant);

/// Returns used_axes(), each with the largest value at which the formula was tested.
AxisLengths longest_recorded(const VariantFormulas& variant);

/// Returns the words for which the formulas of a variant are valid, including all recorded dtypes.
std::vector<WordSet> recorded_words(const VariantFormulas& variant);

/// Returns the integer axes that had the same value in all shapes: the formulas are valid only for this
/// value.
std::vector<std::pair<std::string, Size>> constant_axes(const VariantFormulas& variant);

/// Bytes of a slice, and fixed bytes.
struct LinearFormula {
  Expression per_slice;
  Expression fixed;
};
/// Returns the parts of a formula; null if it is not a constant plus a multiple of the slices.
std::optional<LinearFormula> split_by_slices(const Expression& formula, const std::string& slices);

/// Returns the text in double quotes, as Python and TOML write it. Words and names contain no control
/// characters.
std::string quoted(const std::string& text);
/// Returns `"edge", "wrap"` or `0.5, 1.5`.
std::string literals(const std::vector<AxisValue>& values);

/// Return the written text: a module, a header, tables of a suite. The caller has checked the formulas.
std::string python_module(const std::vector<VariantFormulas>& variants, const RunContext& context,
                          const EmitOptions& options);
std::string cpp_header(const std::vector<VariantFormulas>& variants, const RunContext& context,
                       const EmitOptions& options);
std::string toml_estimator(const std::vector<VariantFormulas>& variants, const RunContext& context,
                           const EmitOptions& options);

}  // namespace peakmark::emitting
