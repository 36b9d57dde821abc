#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sweep/description.hpp"
#include "sweep/external_estimator.hpp"
#include "sweep/program.hpp"

namespace peakmark {

/// What the sweeps of suites may name: the worker's variants and, beside them, the suites' own programs and
/// estimators.
struct Vocabulary {
  Description description;  ///< the worker's, and a variant for each program
  std::vector<std::shared_ptr<const ProgramDescription>> programs;
  std::vector<std::shared_ptr<const ExternalEstimator>> estimators;

  /// nullptr: the variant is the worker's.
  [[nodiscard]] const ProgramDescription* program(std::string_view variant) const;
  /// nullptr: no suite has it.
  [[nodiscard]] const ExternalEstimator* estimator(std::string_view name) const;
  /// The same as it is asked about a variant: where it says not which, a program's Python is its own too.
  /// nullopt: no suite has it.
  [[nodiscard]] std::optional<ExternalEstimator> estimator(std::string_view name,
                                                           std::string_view variant) const;
};

struct SuiteDocument;

/// Throws UsageError, with the place, for a program of a name that is taken, an estimator of a name that is
/// taken, and a program's own estimator that is not there or does not fit it.
Vocabulary gather_vocabulary(const std::vector<SuiteDocument>& documents, const Description& worker);

}  // namespace peakmark
