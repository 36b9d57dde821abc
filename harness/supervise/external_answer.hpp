#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"

namespace peakmark {

/// Why an external estimator has no answer (docs/estimators.md).
enum class NoEstimate : std::uint8_t {
  not_found,          ///< no such program or environment
  no_answer,          ///< its answer lacks a number that was asked for
  no_answer_in_time,  ///< its process wrote nothing within its time
  died,               ///< its process ended before it answered
  negative,
  negative_slices,  ///< the number of slices: `negative` in messages
  too_large,
  zero_per_slice,
  wrong_type,
  wrong_dtype,
};
/// The name in messages: `no_answer_in_time`.
std::string_view to_string(NoEstimate reason);

/// An external estimator has no answer. The message begins with the name of the reason, as the documented
/// `error` of an estimate does.
class NoEstimateError : public ProtocolError {
 public:
  NoEstimateError(NoEstimate reason, const std::string& message);
  [[nodiscard]] NoEstimate reason() const noexcept { return reason_; }

 private:
  NoEstimate reason_;
};

/// What an external estimator answered. Unknown is nullopt.
struct ExternalAnswer {
  std::optional<Size> slices;        ///< that fit the available bytes
  std::optional<Size> bytes;         ///< that the slices need
  std::optional<std::string> dtype;  ///< of the output: ours (`f32`) where we have it, else as it was told
  std::vector<Size> output_dimensions;
  std::vector<Size> padding;         ///< slices before and after
  std::optional<std::string> error;  ///< begins with its name: `negative: …`, `no_answer_in_time: …`
};

/// What its process is to be held to.
struct AnswerRules {
  bool by_command = false;    ///< not by our server of Python's, which has shown a dtype to numpy
  bool asked_slices = false;  ///< how many fit was asked too
  Size slices = 0;            ///< whose bytes were asked
};

/// From one line (docs/formats.md). Throws NoEstimateError for what is no answer.
ExternalAnswer read_external_answer(const std::string& line, const AnswerRules& rules);

}  // namespace peakmark
