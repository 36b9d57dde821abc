#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "worker/variant.hpp"

namespace peakmark {

/// Answers one question to an estimator, a JSON object on a line:
/// {"variant", "parameters": {axis: value}, "available_bytes": N, "slices": N, "estimator": name}.
/// Axes left out are at their default, the estimator left out is the variant's own. `available_bytes` asks
/// how many slices fit; `slices` how many bytes so many need; without it, those that fit, or else those of
/// the parameters. The answer, on a line too: {"slices", "bytes", "dtype", "terms": [{name, per_slice_bytes,
/// fixed_bytes}], "error"}; what was not asked or cannot be told is null. Throws nothing for a bad question:
/// the answer then has `error`.
std::string answer_estimate(const Registry& registry, std::string_view question);

/// Answers line by line until the input ends, flushing each.
void serve_estimates(const Registry& registry, std::istream& questions, std::ostream& answers);

}  // namespace peakmark
