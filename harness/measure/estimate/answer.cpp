#include "measure/estimate/answer.hpp"

#include <fmt/format.h>

#include <limits>

#include "base/dtype.hpp"
#include "base/text.hpp"
#include "measure/runfile/observation_json.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark {

using json_fields::Json;

namespace {

/// Sufficient for a traceback. The error of an estimator is in run files, tables and JUnit reports.
constexpr std::size_t kMaxErrorBytes = 16'000;
constexpr std::size_t kMaxQuotedBytes = 400;

/// Reads a number. Throws NoEstimateError if it is invalid.
std::optional<Size> read_number(const Json& answer, const char* key) {
  const Json& value = answer.contains(key) ? answer.at(key) : Json(nullptr);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number())
    throw NoEstimateError(NoEstimate::wrong_type, fmt::format("{} is {}", key, value.dump()));
  const NoEstimate negative =
      std::string_view(key) == "slices" ? NoEstimate::negative_slices : NoEstimate::negative;
  if (value.is_number_float()) {
    const double number = value.get<double>();
    const NoEstimate reason = number < 0                        ? negative
                              : number >= 9223372036854775808.0 ? NoEstimate::too_large
                                                                : NoEstimate::wrong_type;
    throw NoEstimateError(reason, fmt::format("{} is {}, not a 64-bit integer", key, value.dump()));
  }
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62U &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Size>::max())) {
    throw NoEstimateError(NoEstimate::too_large, fmt::format("{} is {}, more than 2^63", key, value.dump()));
  }
  const Size number = value.get<Size>();
  if (number < 0) throw NoEstimateError(negative, fmt::format("{} is {}", key, number));
  return number;
}

void read_list(const Json& answer, const char* key, std::vector<Size>& values) {
  if (!answer.contains(key) || answer.at(key).is_null()) return;
  json_fields::read(answer.at(key), values);
  for (const Size value : values) {
    if (value < 0)
      throw NoEstimateError(NoEstimate::negative, fmt::format("{} is {}", key, answer.at(key).dump()));
  }
}

/// Reads the slices before and after.
void read_padding(const Json& answer, std::vector<Size>& padding) {
  read_list(answer, "padding", padding);
  if (!padding.empty() && padding.size() != 2) {
    throw NoEstimateError(
        NoEstimate::wrong_type,
        fmt::format("padding is {}; it must be slices before and after", answer.at("padding").dump()));
  }
}

/// Checks the dtype in the answer of a command, which numpy has not checked.
void check_dtype(const std::string& name) {
  try {
    check_estimator_dtype(name);
  } catch (const UsageError& error) {
    throw NoEstimateError(NoEstimate::wrong_dtype, error.what());
  }
}

EstimateAnswer read_object(const Json& json, const AnswerRules& rules) {
  EstimateAnswer answer;
  if (!json.is_object())
    throw NoEstimateError(NoEstimate::wrong_type,
                          "the answer is not a JSON object: " + shortened(json.dump(), kMaxQuotedBytes));
  if (json.contains("warnings")) json_fields::read(json.at("warnings"), answer.warnings);
  if (json.contains("error")) json_fields::read(json.at("error"), answer.error);
  if (answer.error && answer.error->empty())
    throw NoEstimateError(NoEstimate::no_answer, "its error is empty");
  if (answer.error) {
    answer.error = shortened(*answer.error, kMaxErrorBytes);
    return answer;
  }
  answer.slices = read_number(json, "slices");
  answer.bytes = read_number(json, "bytes");
  if (json.contains("dtype")) json_fields::read(json.at("dtype"), answer.dtype);
  if (answer.dtype) {
    if (rules.by_command) check_dtype(*answer.dtype);
    answer.dtype = our_dtype_name(*answer.dtype);
  }
  if (json.contains("terms") && !json.at("terms").is_null())
    json_fields::read(json.at("terms"), answer.terms);
  read_list(json, "output_dimensions", answer.output_dimensions);
  read_padding(json, answer.padding);
  if (rules.asked_slices && !answer.slices)
    throw NoEstimateError(NoEstimate::no_answer, "it reports no slices");
  if (!answer.bytes) throw NoEstimateError(NoEstimate::no_answer, "it reports no bytes");
  if (rules.slices > 0 && answer.bytes == 0) {
    throw NoEstimateError(NoEstimate::zero_per_slice, "the slices need 0 bytes, so any number would fit");
  }
  return answer;
}

}  // namespace

std::string_view to_string(NoEstimate reason) {
  switch (reason) {
    case NoEstimate::not_found:
      return "not_found";
    case NoEstimate::no_answer:
      return "no_answer";
    case NoEstimate::no_answer_in_time:
      return "no_answer_in_time";
    case NoEstimate::died:
      return "died";
    case NoEstimate::negative:
    case NoEstimate::negative_slices:
      return "negative";
    case NoEstimate::too_large:
      return "too_large";
    case NoEstimate::zero_per_slice:
      return "zero_per_slice";
    case NoEstimate::wrong_type:
      return "wrong_type";
    case NoEstimate::wrong_dtype:
      return "wrong_dtype";
  }
  throw std::logic_error("no such reason");
}

NoEstimateError::NoEstimateError(NoEstimate reason, const std::string& message)
    : ProtocolError(std::string(to_string(reason)) + ": " + message), reason_(reason) {}

EstimateAnswer read_answer(const std::string& line, const AnswerRules& rules) {
  try {
    return read_object(Json::parse(line), rules);
  } catch (const Json::exception& error) {
    throw NoEstimateError(NoEstimate::wrong_type,
                          fmt::format("the answer is invalid (standard output is for answers only): {}: {}",
                                      json_fields::message_of(error), shortened(line, kMaxQuotedBytes)));
  }
}

}  // namespace peakmark
