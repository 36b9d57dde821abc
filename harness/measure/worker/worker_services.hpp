#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "measure/worker/variant.hpp"

namespace peakmark {

/// Answers one question to an estimator, a JSON object on one line:
/// {"variant", "parameters": {axis: value}, "available_bytes": N, "slices": N, "estimator": name}.
/// Omitted axes have their defaults; the default estimator is the first of the variant. With
/// `available_bytes`, the answer has the number of slices that fit. `bytes` are those for `slices` if given,
/// else for the slices that fit, else for the parameters. Returns one line:
/// {"slices", "bytes", "dtype", "terms": [{name, per_slice_bytes, fixed_bytes}], "error"};
/// unknown and not requested values are null. Errors are in `error`, not thrown.
std::string answer_estimate(const Registry& registry, std::string_view question);

/// Answers each line as it arrives, until the input ends. `answer` writes a line.
void serve_estimates(const Registry& registry, std::istream& questions,
                     const std::function<void(const std::string&)>& answer);

struct CaseMistake {
  std::string text;
  bool of_worker = false;  ///< the program is wrong, not the case
};

/// Returns what is wrong with a case on any device: sizes that do not fit 64 bits, a region outside its
/// image. Null if nothing is. Limits of a single device are found by a trial. `dry`: a dry device, on which
/// the case is made.
std::optional<CaseMistake> mistake_in(const RegisteredVariant& variant, const Parameters& parameters,
                                      backend::Device& dry);

/// Returns the bytes that a case of one of peakmark's own operations needs, by its first estimator. Null if
/// the estimator has no answer, and for a program's variants, whose estimators may not return. Throws
/// OverflowError if the bytes do not fit 64 bits.
std::optional<Size> estimated_bytes(const RegisteredVariant& variant, const Parameters& parameters);

/// Implements `WORKER --check`: for each case name on a line of `names`, writes a line {"case", "error"}.
/// `error` is null if the case is valid; "of_worker": true means that the worker itself is wrong. Each line
/// is flushed: if a case ends the process, it is the first without an answer.
void serve_checks(const Registry& registry, std::istream& names, std::ostream& answers);

}  // namespace peakmark
