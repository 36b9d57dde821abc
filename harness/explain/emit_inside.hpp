#pragma once

#include <string>
#include <vector>

#include "explain/emit.hpp"
#include "explain/named_lengths.hpp"

// Shared by the writers of estimators.
namespace peakmark::emitting {

/// Returns lines that say from which run, device, versions and shapes formulas come.
std::vector<std::string> origin(const std::vector<VariantFormulas>& variants, const RunContext& context,
                                const EmitOptions& options);

/// Returns the axis along which slices are counted; empty if the variant has none.
std::string slice_axis(const VariantFormulas& variant, const EmitOptions& options);

/// Returns the axes that the peak of a variant reads, in the order of its axes.
std::vector<std::string> used_axes(const VariantFormulas& variant);

/// Returns the text in double quotes, as Python and TOML write it. Words and names hold no control
/// characters.
std::string quoted(const std::string& text);

std::string python_module(const std::vector<VariantFormulas>& variants, const RunContext& context,
                          const EmitOptions& options);

}  // namespace peakmark::emitting
