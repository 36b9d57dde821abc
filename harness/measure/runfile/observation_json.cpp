#include "measure/runfile/observation_json.hpp"

#include <map>
#include <tuple>

#include "base/error.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

using namespace json_fields;

// Conversions that the field lists of observation.hpp cannot express. json_fields.hpp finds them by their
// types.

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

/// The common facts of allocations that are made repeatedly.
struct AllocationKind {
  std::string name;
  std::string phase;
  std::string where;
  std::string process;
  bool operator<(const AllocationKind& other) const {
    return std::tie(name, phase, where, process) <
           std::tie(other.name, other.phase, other.where, other.process);
  }
};

template <EitherConst<AllocationKind> T, typename Fields>
void for_each_field(T& kind, Fields& fields) {
  fields("name", kind.name);
  fields("phase", kind.phase);
  fields("where", kind.where);
  fields.written_if("process", kind.process, !kind.process.empty());
}

/// An AllocationSequence by columns, with each text stored once: 100,000 allocations take a few megabytes.
struct AllocationTable {
  std::vector<AllocationKind> kinds;
  std::vector<Size> kind;  ///< of each allocation: an index into `kinds`
  std::vector<Size> bytes;
  std::vector<Size> allocated_at;
  std::vector<std::optional<Size>> released_at;
  std::vector<Size> not_repeated;  ///< indices of these allocations
};

template <EitherConst<AllocationTable> T, typename Fields>
void for_each_field(T& table, Fields& fields) {
  fields("kinds", table.kinds);
  fields("kind", table.kind);
  fields("bytes", table.bytes);
  fields("allocated_at", table.allocated_at);
  fields("released_at", table.released_at);
  fields("not_repeated", table.not_repeated);
}

Json to_json(const AllocationSequence& sequence) {
  AllocationTable table;
  std::map<AllocationKind, Size> places;
  for (const SequencedAllocation& one : sequence) {
    AllocationKind kind{one.name, one.phase, one.where, one.process};
    const auto [place, is_new] = places.try_emplace(kind, static_cast<Size>(table.kinds.size()));
    if (is_new) table.kinds.push_back(std::move(kind));
    if (!one.is_repeated) table.not_repeated.push_back(static_cast<Size>(table.kind.size()));
    table.kind.push_back(place->second);
    table.bytes.push_back(one.bytes);
    table.allocated_at.push_back(one.allocated_at);
    table.released_at.push_back(one.released_at);
  }
  return fields_json(table);
}

void read(const Json& json, AllocationSequence& sequence) {
  AllocationTable table;
  read_fields(json, table);
  const std::size_t count = table.kind.size();
  const auto check_length = [&](const char* key, std::size_t length) {
    if (length != count) wrong_type(json.at(key), "as long as kind");
  };
  check_length("bytes", table.bytes.size());
  check_length("allocated_at", table.allocated_at.size());
  check_length("released_at", table.released_at.size());
  const auto is_place = [](Size place, std::size_t length) {
    return place >= 0 && static_cast<std::size_t>(place) < length;
  };
  sequence.clear();
  sequence.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_place(table.kind[i], table.kinds.size())) wrong_type(json.at("kind"), "places in kinds");
    if (table.bytes[i] < 0) wrong_type(json.at("bytes"), "0 or more");
    if (table.released_at[i] && *table.released_at[i] <= table.allocated_at[i])
      wrong_type(json.at("released_at"), "later than allocated_at");
    const AllocationKind& kind = table.kinds[static_cast<std::size_t>(table.kind[i])];
    sequence.push_back({kind.name, kind.phase, kind.where, table.bytes[i], table.allocated_at[i],
                        table.released_at[i], true, kind.process});
  }
  for (const Size place : table.not_repeated) {
    if (!is_place(place, count)) wrong_type(json.at("not_repeated"), "places of allocations");
    sequence[static_cast<std::size_t>(place)].is_repeated = false;
  }
}

Json to_json(const Observation& observation) {
  return fields_json(observation);
}

Observation observation_from_json(const Json& json) {
  Observation observation;
  read_fields(json, observation);
  if (observation.cache && *observation.cache != cache_state::cold &&
      *observation.cache != cache_state::hot) {
    wrong_type(json.at("cache"), "cold, hot or null");
  }
  for (const auto& [name, direction] : observation.metric_directions) {
    if (direction != metric_direction::higher && direction != metric_direction::lower)
      wrong_type(json.at("metric_directions").at(name), "higher or lower");
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
