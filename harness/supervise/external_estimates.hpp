#pragma once

#include <optional>
#include <string>

#include "runfile/observation.hpp"
#include "subprocess/worker_process.hpp"
#include "supervise/external_answer.hpp"
#include "sweep/external_estimator.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

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
