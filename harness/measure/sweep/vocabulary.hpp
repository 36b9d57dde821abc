#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "measure/sweep/description.hpp"
#include "measure/sweep/external_estimator.hpp"
#include "measure/sweep/program.hpp"

namespace peakmark {

/// Everything that sweeps can name: the worker's variants, and the programs and estimators of suites.
struct Vocabulary {
  Description description;  ///< of the worker, with a variant for each program added
  std::vector<std::shared_ptr<const ProgramDescription>> programs;
  std::vector<std::shared_ptr<const ExternalEstimator>> estimators;

  /// Returns nullptr for a variant of the worker.
  [[nodiscard]] const ProgramDescription* program(std::string_view variant) const;
  /// Returns nullptr if no suite has it.
  [[nodiscard]] const ExternalEstimator* estimator(std::string_view name) const;
  /// Returns the estimator; if it names no Python, with the Python of the variant's program. Null if no suite
  /// has it.
  [[nodiscard]] std::optional<ExternalEstimator> estimator(std::string_view name,
                                                           std::string_view variant) const;
};

struct SuiteDocument;

/// Collects the names of all documents. Throws UsageError for duplicate programs and estimators, and for a
/// program's estimator that is unknown or does not fit.
Vocabulary gather_vocabulary(const std::vector<SuiteDocument>& documents, const Description& worker);

}  // namespace peakmark
