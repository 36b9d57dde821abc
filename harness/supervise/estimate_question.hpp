#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "supervise/worker_program.hpp"
#include "sweep/description.hpp"

namespace peakmark {

/// One named part of an estimate.
struct EstimateTerm {
  std::string name;
  Size per_slice_bytes = 0;
  Size fixed_bytes = 0;
};

/// What a worker answered to one question. Unknown is nullopt.
struct EstimateReply {
  std::optional<Size> slices;
  std::optional<Size> bytes;
  std::optional<std::string> dtype;
  std::vector<EstimateTerm> terms;
  std::vector<Size> output_dimensions;  ///< of external estimators that tell them
  std::vector<Size> padding;            ///< slices before and after, likewise
  std::optional<std::string> error;
};

/// The values of a variant's axes from `key=value` texts, those not given at their default; sizes in bytes or
/// elements, as the axis has it. UsageError that names the axis: unknown (with
/// the nearest), given twice, or of a value that it cannot have.
Parameters parse_parameters(const VariantDescription& variant, const std::vector<std::string>& texts);

/// The line that asks `WORKER --estimate`: how many slices fit `available_bytes`, or, without, how many bytes
/// the parameters need. `estimator` null: the variant's own.
std::string estimate_question(const VariantDescription& variant, const Parameters& parameters,
                              std::optional<Size> available_bytes,
                              const std::optional<std::string>& estimator);

/// ProtocolError when the line is no answer.
EstimateReply parse_estimate_reply(const std::string& line);

/// The keyword arguments of a Python function from `key=value` texts, as a JSON object: a value that is JSON
/// is what it says (3, 0.5, true, null, [3, 3]), any other is a text. UsageError for what is no key=value.
std::string parse_arguments(const std::vector<std::string>& texts);

/// `parameters` as such a JSON object.
std::string to_arguments(const Parameters& parameters);

/// Question and answer for `estimate --json`. `parameters`: a JSON object.
std::string estimate_json(const std::string& variant, const std::string& parameters,
                          std::optional<Size> available_bytes, const EstimateReply& reply);

/// Asks. ProtocolError when the worker gives no answer within `limit`, with how to ask by hand.
EstimateReply ask_estimator(const std::filesystem::path& worker, const std::string& question,
                            std::chrono::milliseconds limit = kAnswerLimit);

}  // namespace peakmark
