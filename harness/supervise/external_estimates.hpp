#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "runfile/observation.hpp"
#include "subprocess/worker_process.hpp"
#include "supervise/external_answer.hpp"
#include "sweep/external_estimator.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// What stops a question early.
struct AskLimits {
  int interrupt = -1;                                        ///< readable: throws Interrupted
  std::optional<WorkerProcess::Clock::time_point> deadline;  ///< past: throws DeadlineError
};

/// Asks an estimator in a separate process, which is killed after `estimator.seconds`, so that its
/// allocations, crashes and endless loops do not affect this one. Its failures are not thrown, but are in
/// `error`. `parameters`: a JSON object; empty: those of the question.
ExternalAnswer ask_external(const ExternalEstimator& estimator, const EstimatorQuestion& question,
                            std::optional<Size> available_bytes, const std::string& parameters = "",
                            const AskLimits& limits = {});

/// Asks an estimator about a measured case, with its recorded peak as available memory.
EstimateObservation ask_about_case(const ExternalEstimator& estimator, const VariantDescription& variant,
                                   const Observation& observation, const AskLimits& limits);

/// The same for several cases of a variant. One process of a Python function answers all; if it ends or is
/// late, a new one answers those that are left.
std::vector<EstimateObservation> ask_about_cases(const ExternalEstimator& estimator,
                                                 const VariantDescription& variant,
                                                 const std::vector<const Observation*>& cases,
                                                 const AskLimits& limits);

/// Adds the external estimators that must be asked about a measured case to its observation: the program's
/// own and those that the suite names, each with `is_asked` false. Does nothing for a case that failed, which
/// has no peak.
void note_external_estimates(const PlannedCase& planned, const Vocabulary& vocabulary,
                             Observation& observation);

/// Asks them, and adds their answers. If `limits` make it throw, the estimators that are left stay unasked.
void ask_external_estimates(const Vocabulary& vocabulary, Observation& observation, const AskLimits& limits);

}  // namespace peakmark
