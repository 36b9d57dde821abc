#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"
#include "runfile/observation.hpp"
#include "subprocess/worker_process.hpp"
#include "sweep/external_estimator.hpp"
#include "sweep/suite.hpp"

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

/// What ends the asking before its time.
struct AskLimits {
  int interrupt = -1;                                        ///< readable: throws Interrupted
  std::optional<WorkerProcess::Clock::time_point> deadline;  ///< past: throws DeadlineError
};

/// Asks in a process of the estimator's own, which is killed after `estimator.seconds`: what it allocates,
/// breaks or never ends does so there. Nothing that goes wrong with it is thrown. `parameters`: a JSON
/// object; empty, those of the question.
ExternalAnswer ask_external(const ExternalEstimator& estimator, const EstimatorQuestion& question,
                            std::optional<Size> available_bytes, const std::string& parameters = "",
                            const AskLimits& limits = {});

/// Notes in the observation of a case that was measured which external estimators are to be asked about it,
/// the program's own and those that the suite names, each with `is_asked` false. A case that did not
/// go well has no peak to hold them against.
void note_external_estimates(const PlannedCase& planned, const Vocabulary& vocabulary,
                             Observation& observation);

/// Asks them, and notes what they answer. Where it throws (`limits`), those that are left stay as they were.
void ask_external_estimates(const Vocabulary& vocabulary, Observation& observation, const AskLimits& limits);

}  // namespace peakmark
