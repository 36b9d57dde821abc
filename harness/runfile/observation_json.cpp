#include "runfile/observation_json.hpp"

#include "base/error.hpp"
#include "runfile/json_fields.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

using namespace json_fields;

namespace {

/// The error of an estimator that was not asked. Before 1.3 run files had no key for that.
constexpr std::string_view kNotAsked = "not_asked: ";

Json to_json(const EstimateObservation& estimate) {
  Json json{{"estimator", estimate.estimator},
            {"form", estimate.form},
            {"slices_used", estimate.slices_used},
            {"slices_estimated", or_null(estimate.slices_estimated)},
            {"bytes_estimated", or_null(estimate.bytes_estimated)},
            {"dtype", or_null(estimate.dtype)},
            {"error", or_null(estimate.error)}};
  if (estimate.error) json["asked"] = estimate.is_asked;
  return json;
}

void read(const Json& json, EstimateObservation& estimate) {
  field(json, "estimator", estimate.estimator);
  field(json, "form", estimate.form);
  field(json, "slices_used", estimate.slices_used);
  field(json, "slices_estimated", estimate.slices_estimated);
  field(json, "bytes_estimated", estimate.bytes_estimated);
  field(json, "dtype", estimate.dtype);
  field(json, "error", estimate.error);
  if (json.contains("asked")) {
    field(json, "asked", estimate.is_asked);
  } else if (estimate.error) {
    estimate.is_asked = !estimate.error->starts_with(kNotAsked);
  }
}

Json to_json(const GpuTime& time) {
  Json json{{"median", time.median_ns}, {"min", time.min_ns}, {"max", time.max_ns}, {"blocks", time.blocks}};
  if (time.rounds) json["rounds"] = *time.rounds;
  return json;
}

void read(const Json& json, GpuTime& time) {
  field(json, "median", time.median_ns);
  field(json, "min", time.min_ns);
  field(json, "max", time.max_ns);
  field(json, "blocks", time.blocks);
  if (!json.contains("rounds")) return;  // younger than the format
  field(json, "rounds", time.rounds);
  if (time.rounds && time.rounds->size() != time.blocks.size()) {
    wrong_type(json.at("rounds"), "as long as blocks");
  }
}

Json to_json(const std::vector<PeakEntry>& entries) {
  Json list = Json::array();
  for (const PeakEntry& entry : entries) {
    list.push_back(Json{{"name", entry.name}, {"kind", entry.kind}, {"bytes", entry.bytes}});
  }
  return list;
}

void read(const Json& json, PeakEntry& entry) {
  field(json, "name", entry.name);
  field(json, "kind", entry.kind);
  field(json, "bytes", entry.bytes);
}

Json to_json(const std::vector<KernelTime>& kernels) {
  Json list = Json::array();
  for (const KernelTime& kernel : kernels) {
    list.push_back(Json{{"name", kernel.name}, {"count", kernel.count}, {"ns", kernel.ns}});
  }
  return list;
}

void read(const Json& json, KernelTime& kernel) {
  field(json, "name", kernel.name);
  field(json, "count", kernel.count);
  field(json, "ns", kernel.ns);
}

template <typename T>
void read_list(const Json& json, std::vector<T>& list) {
  if (!json.is_array()) wrong_type(json, "a list");
  for (const Json& item : json) read(item, list.emplace_back());
}

template <typename T>
void read_or_null(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) read(json, value.emplace());
}

/// Bytes, or null. Fewer than none would be within every limit.
void bytes_field(const Json& json, const char* key, std::optional<Size>& bytes) {
  field(json, key, bytes);
  if (bytes && *bytes < 0) {
    throw UsageError(std::string(key) + " is " + std::to_string(*bytes) + "; bytes are 0 or more");
  }
}

/// Younger than the format: times of older files are of calls one after the other.
void read_cache(const Json& json, Observation& observation) {
  if (!json.contains("cache")) {
    if (observation.time_source == time_source::device) observation.cache = cache_state::hot;
    return;
  }
  field(json, "cache", observation.cache);
  if (observation.cache && *observation.cache != cache_state::cold &&
      *observation.cache != cache_state::hot) {
    wrong_type(json.at("cache"), "cold, hot or null");
  }
  read_or_null(json.at("gpu_time_hot_ns"), observation.gpu_time_hot);
  field(json, "throttled_blocks", observation.throttled_blocks);
}

}  // namespace

Json to_json(const Observation& observation) {
  Json others = Json::array();
  for (const EstimateObservation& estimate : observation.other_estimates) others.push_back(to_json(estimate));
  return Json{
      {"case", observation.case_name},
      {"axes", json_fields::to_json(observation.axes)},
      {"variant", observation.variant},
      {"backend", observation.backend},
      {"outcome", to_string(observation.outcome)},
      {"message", observation.message},
      {"requested_peak_bytes", or_null(observation.requested_peak_bytes)},
      {"first_call_peak_bytes", or_null(observation.first_call_peak_bytes)},
      {"setup_bytes", or_null(observation.setup_bytes)},
      {"input_bytes", or_null(observation.input_bytes)},
      {"output_bytes", or_null(observation.output_bytes)},
      {"leaked_bytes", or_null(observation.leaked_bytes)},
      {"allocations", or_null(observation.allocations)},
      {"at_peak", to_json(observation.at_peak)},
      {"by_kind", Json(observation.by_kind)},
      {"pool_reserved_peak_bytes", or_null(observation.pool_reserved_peak_bytes)},
      {"second_pass_peak_bytes", or_null(observation.second_pass_peak_bytes)},
      {"moved_allocations", observation.moved_allocations},
      {"destroys_input", observation.destroys_input},
      {"gpu_time_ns", observation.gpu_time ? to_json(*observation.gpu_time) : Json(nullptr)},
      {"gpu_time_again_ns",
       observation.gpu_time_again ? to_json(*observation.gpu_time_again) : Json(nullptr)},
      {"time_source", or_null(observation.time_source)},
      {"cache", or_null(observation.cache)},
      {"gpu_time_hot_ns", observation.gpu_time_hot ? to_json(*observation.gpu_time_hot) : Json(nullptr)},
      {"throttled_blocks", or_null(observation.throttled_blocks)},
      {"kernels", to_json(observation.kernels)},
      {"bytes_moved", or_null(observation.bytes_moved)},
      {"flops", or_null(observation.flops)},
      {"output_dtype", or_null(observation.output_dtype)},
      {"estimate", observation.estimate ? to_json(*observation.estimate) : Json(nullptr)},
      {"other_estimates", others},
  };
}

Json to_json(const Throughput& throughput) {
  return Json{{"bytes_per_second", or_null(throughput.bytes_per_second)},
              {"share_of_copy", or_null(throughput.share_of_copy)},
              {"share_of_peak", or_null(throughput.share_of_peak)},
              {"flops_per_second", or_null(throughput.flops_per_second)}};
}

Observation observation_from_json(const Json& json) {
  Observation observation;
  std::string outcome;
  field(json, "case", observation.case_name);
  field(json, "axes", observation.axes);
  field(json, "variant", observation.variant);
  field(json, "backend", observation.backend);
  field(json, "outcome", outcome);
  observation.outcome = parse_outcome(outcome);
  field(json, "message", observation.message);
  bytes_field(json, "requested_peak_bytes", observation.requested_peak_bytes);
  bytes_field(json, "first_call_peak_bytes", observation.first_call_peak_bytes);
  bytes_field(json, "setup_bytes", observation.setup_bytes);
  // What those steps added: below 0 where more was released in one, as of what set-up had made.
  field(json, "input_bytes", observation.input_bytes);
  field(json, "output_bytes", observation.output_bytes);
  bytes_field(json, "leaked_bytes", observation.leaked_bytes);
  field(json, "allocations", observation.allocations);
  read_list(json.at("at_peak"), observation.at_peak);
  field(json, "by_kind", observation.by_kind);
  bytes_field(json, "pool_reserved_peak_bytes", observation.pool_reserved_peak_bytes);
  bytes_field(json, "second_pass_peak_bytes", observation.second_pass_peak_bytes);
  field(json, "moved_allocations", observation.moved_allocations);
  field(json, "destroys_input", observation.destroys_input);
  read_or_null(json.at("gpu_time_ns"), observation.gpu_time);
  if (json.contains("gpu_time_again_ns")) {  // younger than the format
    read_or_null(json.at("gpu_time_again_ns"), observation.gpu_time_again);
  }
  if (json.contains("time_source")) {  // younger than the format
    field(json, "time_source", observation.time_source);
  } else if (observation.gpu_time) {
    observation.time_source = time_source::device;
  }
  read_cache(json, observation);
  read_list(json.at("kernels"), observation.kernels);
  field(json, "bytes_moved", observation.bytes_moved);
  if (json.contains("flops")) field(json, "flops", observation.flops);  // younger than the format
  field(json, "output_dtype", observation.output_dtype);
  read_or_null(json.at("estimate"), observation.estimate);
  read_list(json.at("other_estimates"), observation.other_estimates);
  return observation;
}

std::string to_json_line(const Observation& observation) {
  return one_line(to_json(observation));
}

Observation observation_from_json_line(std::string_view line) {
  try {
    return observation_from_json(Json::parse(line));
  } catch (const Json::exception& error) {
    throw UsageError("no observation: " + message_of(error));
  }
}

}  // namespace peakmark
