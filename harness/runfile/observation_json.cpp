#include "runfile/observation_json.hpp"

#include "base/error.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

using namespace json_fields;

// What the field lists of observation.hpp cannot express. Found by json_fields.hpp through the types.

Json to_json(Outcome outcome) {
  return Json(to_string(outcome));
}

void read(const Json& json, Outcome& outcome) {
  std::string name;
  json_fields::read(json, name);
  outcome = parse_outcome(name);
}

void read(const Json& json, GpuTime& time) {
  read_fields(json, time);
  if (time.rounds && time.rounds->size() != time.blocks.size()) {
    wrong_type(json.at("rounds"), "as long as blocks");
  }
}

void read(const Json& json, EstimateObservation& estimate) {
  read_fields(json, estimate);
  // Before 1.3 run files had no key for it.
  if (estimate.error && !json.contains("asked")) {
    estimate.is_asked = !estimate.error->starts_with("not_asked: ");
  }
}

Json to_json(const Observation& observation) {
  return fields_json(observation);
}

Observation observation_from_json(const Json& json) {
  Observation observation;
  read_fields(json, observation);
  if (!json.contains("time_source") && observation.gpu_time) observation.time_source = time_source::device;
  if (!json.contains("cache") && observation.time_source == time_source::device) {
    observation.cache = cache_state::hot;  // earlier versions timed calls back to back
  }
  if (observation.cache && *observation.cache != cache_state::cold &&
      *observation.cache != cache_state::hot) {
    wrong_type(json.at("cache"), "cold, hot or null");
  }
  return observation;
}

Json to_json(const Throughput& throughput) {
  return Json{{"bytes_per_second", or_null(throughput.bytes_per_second)},
              {"share_of_copy", or_null(throughput.share_of_copy)},
              {"share_of_peak", or_null(throughput.share_of_peak)},
              {"flops_per_second", or_null(throughput.flops_per_second)}};
}

std::string to_json_line(const Observation& observation) {
  return one_line(to_json(observation));
}

Observation observation_from_json_line(std::string_view line) {
  try {
    return observation_from_json(Json::parse(line));
  } catch (const Json::exception& error) {
    throw UsageError("not an observation: " + message_of(error));
  }
}

}  // namespace peakmark
