#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/estimate/answer.hpp"
#include "measure/estimate/estimator_process.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/sweep/external_estimator.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

/// Throws UsageError, before any question, for an estimator that the user must fix first: its program, Python
/// environment, module or function is missing, or numpy is missing there.
void check_estimators_found(const std::vector<ExternalEstimator>& estimators, const AskLimits& limits);
/// Checks the estimators that are asked about planned cases in the same way.
void check_estimators_found(const Vocabulary& vocabulary, const std::vector<PlannedCase>& planned,
                            const AskLimits& limits);

/// Returns true for a warning of an estimator (EstimatorWarnings).
bool is_estimator_warning(std::string_view warning);

/// Returns the methods of the module of httomo-backends that `estimator.call` names: `python:package.module`.
/// Throws UsageError if it cannot be imported, or has no methods.
std::vector<std::string> list_methods(const ExternalEstimator& estimator, const AskLimits& limits);

/// Asks an estimator in a separate process, which is killed after `estimator.seconds`, so that its
/// allocations, crashes and endless loops do not affect this one. Its failures are in `error`, not thrown.
/// `parameters`: a JSON object; empty: the parameters of the question.
EstimateAnswer ask_external(const ExternalEstimator& estimator, const EstimatorQuestion& question,
                            std::optional<Size> available_bytes, const std::string& parameters = "",
                            const AskLimits& limits = {});

/// Asks an estimator about measured cases of a variant, with their recorded peaks as available memory. For a
/// Python function, one process answers all questions.
std::vector<EstimateObservation> ask_about_cases(const ExternalEstimator& estimator,
                                                 const VariantDescription& variant,
                                                 const std::vector<const Observation*>& cases,
                                                 const AskLimits& limits);

/// Adds the external estimators that must be asked about a measured case to its observation: the program's
/// own and those that the suite names, each with `is_asked` false. Does nothing for a failed case, which has
/// no peak.
void note_external_estimates(const PlannedCase& planned, const Vocabulary& vocabulary,
                             Observation& observation);

/// Asks the external estimators of cases, one after the other.
class ExternalAsker {
 public:
  ExternalAsker(const Vocabulary& vocabulary, const AskLimits& limits)
      : vocabulary_(vocabulary), limits_(limits) {}

  /// Asks the estimators that the observation marks as not asked, and adds their answers. If a limit makes it
  /// throw, the remaining estimators stay unasked.
  void ask(Observation& observation);

 private:
  void ask(EstimateObservation& estimate, const Observation& observation);

  const Vocabulary& vocabulary_;
  AskLimits limits_;
  std::map<std::string, LateAnswers> late_;  ///< by estimator
};

}  // namespace peakmark
