#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/estimate/answer.hpp"
#include "measure/estimate/estimator_process.hpp"
#include "measure/sweep/description.hpp"

namespace peakmark {

/// Returns the line that asks `WORKER --estimate` how many slices fit into `available_bytes` or, if that is
/// null, how many bytes the parameters need. `estimator` null: the variant's default.
std::string estimate_question(const VariantDescription& variant, const Parameters& parameters,
                              std::optional<Size> available_bytes,
                              const std::optional<std::string>& estimator);

/// Asks `WORKER --estimate`, which has the estimators of its variants. Returns an answer to each question;
/// the failure of an estimator is its `error`. `estimator`: its name, for messages.
std::vector<EstimateAnswer> ask_estimators(const std::filesystem::path& worker, const std::string& estimator,
                                           const std::vector<std::string>& questions,
                                           const AskLimits& limits);
/// Asks one question. If the estimator does not answer, the error says how to ask it by hand.
EstimateAnswer ask_estimator(const std::filesystem::path& worker, const std::string& estimator,
                             const std::string& question, const AskLimits& limits);

}  // namespace peakmark
