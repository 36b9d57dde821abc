#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "runfile/observation.hpp"
#include "supervise/estimator_process.hpp"
#include "sweep/description.hpp"

namespace peakmark {

/// The answer to one question. Unknown values are null.
struct EstimateReply {
  std::optional<Size> slices;
  std::optional<Size> bytes;
  std::optional<std::string> dtype;
  std::vector<EstimateTerm> terms;
  std::vector<Size> output_dimensions;  ///< from external estimators that report them
  std::vector<Size> padding;            ///< slices before and after; likewise
  std::optional<std::string> error;
};

/// Returns the values of a variant's axes from `key=value` texts; axes without one have their default. Throws
/// UsageError for an axis that is unknown (with the nearest name), given twice, or has an invalid value.
Parameters parse_parameters(const VariantDescription& variant, const std::vector<std::string>& texts);

/// Returns the line that asks `WORKER --estimate` how many slices fit `available_bytes` or, if that is null,
/// how many bytes the parameters need. `estimator` null: the variant's own.
std::string estimate_question(const VariantDescription& variant, const Parameters& parameters,
                              std::optional<Size> available_bytes,
                              const std::optional<std::string>& estimator);

/// Throws ProtocolError if the line is not an answer.
EstimateReply parse_estimate_reply(const std::string& line);

/// Returns the keyword arguments of a Python function from `key=value` texts, as a JSON object. A value that
/// is valid JSON (3, 0.5, true, null, [3, 3]) is read as JSON, any other as a string. Throws UsageError for a
/// text without `=`.
std::string parse_arguments(const std::vector<std::string>& texts);

/// Returns `parameters` as such a JSON object.
std::string to_arguments(const Parameters& parameters);

/// Returns the output of `estimate --json`. `parameters`: a JSON object.
std::string estimate_json(const std::string& variant, const std::string& parameters,
                          std::optional<Size> available_bytes, const EstimateReply& reply);

/// The answer about a method of a module of httomo-backends.
struct MethodReply {
  std::string method;
  EstimateReply reply;
};

/// Returns the output of `estimate python:MODULE --json`, about several methods.
std::string methods_json(const std::string& module, const std::string& parameters,
                         std::optional<Size> available_bytes, const std::vector<MethodReply>& replies);

/// Asks `WORKER --estimate`, for the estimators of its variants. Returns a reply for each question; the
/// failure of an estimator is its `error`. `estimator`: its name, for messages.
std::vector<EstimateReply> ask_estimators(const std::filesystem::path& worker, const std::string& estimator,
                                          const std::vector<std::string>& questions, const AskLimits& limits);
/// The same for one question. The error of one that does not answer has how to ask by hand.
EstimateReply ask_estimator(const std::filesystem::path& worker, const std::string& estimator,
                            const std::string& question, const AskLimits& limits);

}  // namespace peakmark
