#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "worker/variant.hpp"

namespace peakmark {

/// Answers one question to an estimator, a JSON object on a line:
/// {"variant", "parameters": {axis: value}, "available_bytes": N, "slices": N, "estimator": name}.
/// Omitted axes have their defaults; the default estimator is the variant's own. With `available_bytes`, the
/// answer has the number of slices that fit. `bytes` are for `slices`, else for those that fit, else for
/// those of the parameters. Returns one line: {"slices", "bytes", "dtype", "terms": [{name, per_slice_bytes,
/// fixed_bytes}], "error"}; unknown and not requested values are null. Errors are in `error`, not thrown.
std::string answer_estimate(const Registry& registry, std::string_view question);

/// Answers each line until the input ends, as it comes. `answer` writes a line.
void serve_estimates(const Registry& registry, std::istream& questions,
                     const std::function<void(const std::string&)>& answer);

struct CaseMistake {
  std::string text;
  bool of_worker = false;  ///< the program is wrong, and not what was asked of it
};

/// What is wrong with a case whatever the device: sizes that do not fit 64 bits, a region outside its image.
/// Null where nothing is; what one device cannot do or hold is for a trial to find out. `dry`: a dry device,
/// on which the case is made.
std::optional<CaseMistake> mistake_in(const RegisteredVariant& variant, const Parameters& parameters,
                                      Device& dry);

/// What a case of a variant of peakmark's own needs, by its first estimator. Null where that does not answer,
/// and of a program's variants, whose estimators may never come back. Throws OverflowError where the bytes do
/// not fit 64 bits.
std::optional<Size> estimated_bytes(const RegisteredVariant& variant, const Parameters& parameters);

/// `WORKER --check`: to each case name on a line of `names` a line {"case", "error"}, null where it is right,
/// with "of_worker": true where the worker itself is wrong. Each line is flushed: where a case ends the
/// process, it is the first without an answer.
void serve_checks(const Registry& registry, std::istream& names, std::ostream& answers);

}  // namespace peakmark
