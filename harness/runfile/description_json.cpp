#include "runfile/description_json.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "runfile/json_fields.hpp"

namespace peakmark {

using namespace json_fields;

namespace {

using EstimatorDescription = VariantDescription::EstimatorDescription;

Json to_json(const AxisDescription& axis) {
  return Json{{"name", axis.name},
              {"type", std::holds_alternative<Size>(axis.default_value) ? "integer" : "word"},
              {"default", json_fields::to_json(axis.default_value)},
              {"choices", axis.choices},
              {"least", axis.least},
              {"help", axis.help}};
}

void read(const Json& json, AxisDescription& axis) {
  field(json, "name", axis.name);
  field(json, "default", axis.default_value);
  field(json, "choices", axis.choices);
  field(json, "least", axis.least);
  field(json, "help", axis.help);
}

Json to_json(const VariantDescription& variant) {
  Json axes = Json::array();
  for (const AxisDescription& axis : variant.axes) axes.push_back(to_json(axis));
  Json estimators = Json::array();
  for (const EstimatorDescription& estimator : variant.estimators) {
    estimators.push_back(Json{{"name", estimator.name}, {"form", estimator.form}});
  }
  return Json{{"name", variant.name},
              {"help", variant.help},
              {"backends", variant.backends},
              {"axes", axes},
              {"slice_axis", variant.slice_axis},
              {"slice_dimension", variant.slice_dimension},
              {"destroys_input", variant.destroys_input},
              {"estimators", estimators}};
}

const Json& list_at(const Json& json, const char* key) {
  const Json& list = json.at(key);
  if (!list.is_array()) wrong_type(list, "a list");
  return list;
}

void read(const Json& json, VariantDescription& variant) {
  field(json, "name", variant.name);
  field(json, "help", variant.help);
  field(json, "backends", variant.backends);
  for (const Json& axis : list_at(json, "axes")) read(axis, variant.axes.emplace_back());
  field(json, "slice_axis", variant.slice_axis);
  field(json, "slice_dimension", variant.slice_dimension);
  field(json, "destroys_input", variant.destroys_input);
  for (const Json& estimator : list_at(json, "estimators")) {
    EstimatorDescription& read_one = variant.estimators.emplace_back();
    field(estimator, "name", read_one.name);
    field(estimator, "form", read_one.form);
  }
}

/// Other versions of one MAJOR understand each other; the library of a worker speaks for all of its minors.
void read_api(const Json& json, Description& description) {
  std::optional<std::string> api;
  field(json, "api", api);
  if (!api) return;
  description.api = *api;
  if (api->substr(0, api->find('.')) == std::to_string(Description::kApiMajor)) return;
  throw ProtocolError(
      "the worker was built on version " + *api + " of peakmark's API, this peakmark serves " +
      std::to_string(Description::kApiMajor) +
      ".*; build the worker anew against this peakmark (find_package(peakmark) with its prefix "
      "in CMAKE_PREFIX_PATH), or run it with the peakmark that it was built against");
}

/// Why an answer cannot be read at all: the first line that is none of a description.
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
  Json variants = Json::array();
  for (const VariantDescription& variant : description.variants) variants.push_back(to_json(variant));
  return one_line(Json{{"protocol", description.protocol},
                       {"api", description.api.empty() ? Json() : Json(description.api)},
                       {"worker", description.worker},
                       {"build", description.build},
                       {"commit", description.commit},
                       {"checks_cases", description.checks_cases},
                       {"takes_blocks", description.takes_blocks},
                       {"tells_steps", description.reports_steps},
                       {"takes_cache", description.takes_cache},
                       {"variants", variants}}) +
         "\n";
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
    if (json.contains("api")) read_api(json, description);
    field(json, "worker", description.worker);
    field(json, "build", description.build);
    field(json, "commit", description.commit);
    if (json.contains("checks_cases")) field(json, "checks_cases", description.checks_cases);
    if (json.contains("takes_blocks")) field(json, "takes_blocks", description.takes_blocks);
    if (json.contains("tells_steps")) field(json, "tells_steps", description.reports_steps);
    if (json.contains("takes_cache")) field(json, "takes_cache", description.takes_cache);
    for (const Json& variant : list_at(json, "variants")) read(variant, description.variants.emplace_back());
  } catch (const Json::parse_error& error) {
    throw ProtocolError("what the worker says of itself is no description: " + why_unreadable(text, error));
  } catch (const Json::exception& error) {
    throw ProtocolError("what the worker says of itself is no description: " + message_of(error));
  }
  return description;
}

}  // namespace peakmark
