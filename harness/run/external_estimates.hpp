#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/observation.hpp"
#include "sweep/external_estimator.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// What an external estimator answered. Unknown is nullopt.
struct ExternalAnswer {
  std::optional<Size> slices;        ///< that fit the available bytes
  std::optional<Size> bytes;         ///< that the slices need
  std::optional<std::string> dtype;  ///< of the output: ours (`f32`) where we have it, else as it was told
  std::vector<Size> output_dimensions;
  std::vector<Size> padding;         ///< slices before and after
  std::optional<std::string> error;  ///< begins with its name: `negative: …`, `no_answer_in_time: …`
};

/// Asks in a process of the estimator's own, which is killed after `estimator.seconds`: what it allocates,
/// breaks or never ends does so there. Nothing that goes wrong with it is thrown. `parameters`: a JSON
/// object; empty, those of the question. `interrupt`: readable: throws Error (interrupted).
ExternalAnswer ask_external(const ExternalEstimator& estimator, const EstimatorQuestion& question,
                            std::optional<Size> available_bytes, const std::string& parameters = "",
                            int interrupt = -1);

/// Asks the external estimators of a case that was measured, the program's own and those that the suite
/// names, and adds what they answer to its observation. A case that did not go well has no peak to hold them
/// against.
void add_external_estimates(const PlannedCase& planned, const Vocabulary& vocabulary,
                            Observation& observation, int interrupt = -1);

}  // namespace peakmark
