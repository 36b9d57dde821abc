#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"
#include "measure/runfile/observation.hpp"

namespace peakmark {

/// Why an estimator outside this process has no answer (docs/estimators.md).
enum class NoEstimate : std::uint8_t {
  not_found,          ///< no such program or environment
  no_answer,          ///< its answer lacks a number
  no_answer_in_time,  ///< its process wrote nothing within the limit
  died,               ///< its process ended before it answered
  negative,
  negative_slices,  ///< a negative number of slices: `negative` in messages
  too_large,
  zero_per_slice,
  wrong_type,
  wrong_dtype,
};
/// Returns the name in messages: `no_answer_in_time`.
std::string_view to_string(NoEstimate reason);

/// Thrown if an estimator outside this process has no answer. The message starts with the name of the reason,
/// as the documented `error` of an estimate.
class NoEstimateError : public ProtocolError {
 public:
  NoEstimateError(NoEstimate reason, const std::string& message);
  [[nodiscard]] NoEstimate reason() const noexcept { return reason_; }

 private:
  NoEstimate reason_;
};

/// The answer of an estimator: of a worker, a Python function, a command, or formulas. Unknown is nullopt.
struct EstimateAnswer {
  std::optional<Size> slices;        ///< number that fits into the available bytes
  std::optional<Size> bytes;         ///< for these slices
  std::vector<EstimateTerm> terms;   ///< that add up to `bytes`; empty if the estimator names none
  std::optional<std::string> dtype;  ///< of the output; in our spelling (`f32`) if we know it
  std::vector<Size> output_dimensions;
  std::vector<Size> padding;          ///< slices before and after
  std::vector<std::string> warnings;  ///< of an estimator in Python
  /// Starts with the reason, `no_answer_in_time: …`, or is the error that the estimator itself reported.
  std::optional<std::string> error;
};

/// How an answer is checked.
struct AnswerRules {
  bool by_command = false;    ///< from a command: no numpy of our Python server has checked the dtype
  bool asked_slices = false;  ///< the question also asked how many slices fit
  Size slices = 0;            ///< the number of slices whose bytes the question asked for
};

/// Reads an answer from one line (docs/formats.md). Throws NoEstimateError for an invalid one.
EstimateAnswer read_answer(const std::string& line, const AnswerRules& rules);

}  // namespace peakmark
