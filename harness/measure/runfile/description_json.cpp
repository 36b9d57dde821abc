#include "measure/runfile/description_json.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark {

using namespace json_fields;

using EstimatorDescription = VariantDescription::EstimatorDescription;

template <EitherConst<AxisDescription> T, typename Fields>
void for_each_field(T& axis, Fields& fields) {
  fields("name", axis.name);
  fields.derived("type", type_name(axis));
  fields("default", axis.default_value);
  fields("choices", axis.choices);
  fields("min", axis.min);
  fields("help", axis.help);
}

template <EitherConst<EstimatorDescription> T, typename Fields>
void for_each_field(T& estimator, Fields& fields) {
  fields("name", estimator.name);
  fields("form", estimator.form);
}

template <EitherConst<VariantDescription> T, typename Fields>
void for_each_field(T& variant, Fields& fields) {
  fields("name", variant.name);
  fields("help", variant.help);
  fields("backends", variant.backends);
  fields("axes", variant.axes);
  fields("slice_axis", variant.slice_axis);
  fields("slice_dimension", variant.slice_dimension);
  fields("destroys_input", variant.destroys_input);
  fields("estimators", variant.estimators);
}

template <EitherConst<Description> T, typename Fields>
void for_each_field(T& description, Fields& fields) {
  fields("protocol", description.protocol);
  fields.null_if_empty("api", description.api);
  fields("worker", description.worker);
  fields("build", description.build);
  fields("commit", description.commit);
  fields("variants", description.variants);
}

namespace {

/// Checks the version of the public API. Versions with the same MAJOR are compatible.
void check_api(const Json& json) {
  std::optional<std::string> api;
  if (json.contains("api")) field(json, "api", api);
  if (!api || api->substr(0, api->find('.')) == std::to_string(Description::kApiMajor)) return;
  throw ProtocolError(
      "the worker was built on version " + *api +
      " of peakmark's API, but this peakmark can use only version " + std::to_string(Description::kApiMajor) +
      ".*: build the worker anew against this peakmark (find_package(peakmark) with its prefix "
      "in CMAKE_PREFIX_PATH), or run it with the peakmark that it was built against");
}

/// Returns why an answer cannot be parsed: the first line that does not belong to a description.
std::string why_unreadable(std::string_view text, const Json::parse_error& error) {
  constexpr std::size_t kMost = 80;
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return "it printed nothing; is it a worker?";
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
    if (is_blank || Json::parse(line, nullptr, false).is_object()) continue;
    return "it printed '" + peakmark::one_line(shortened(line, kMost)) +
           "'; a worker must print nothing to standard output before Worker::run; or is this no worker?";
  }
  return message_of(error);
}

}  // namespace

std::string to_json_text(const Description& description) {
  return one_line(json_fields::to_json(description)) + "\n";
}

Description description_from_json(std::string_view text) {
  Description description;
  try {
    const Json json = Json::parse(text);
    field(json, "protocol", description.protocol);
    if (description.protocol != Description::kProtocol) {
      throw ProtocolError("the worker speaks version " + std::to_string(description.protocol) +
                          " of the protocol, this peakmark version " +
                          std::to_string(Description::kProtocol) + "; build both from the same sources");
    }
    check_api(json);
    json_fields::read(json, description);
  } catch (const Json::parse_error& error) {
    throw ProtocolError("the worker's description cannot be read: " + why_unreadable(text, error));
  } catch (const Json::exception& error) {
    throw ProtocolError("the worker's description cannot be read: " + message_of(error));
  }
  return description;
}

}  // namespace peakmark
