#pragma once

#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/runfile/throughput.hpp"

// For .cpp files only.
namespace peakmark {

json_fields::Json to_json(Outcome outcome);
void read(const json_fields::Json& json, Outcome& outcome);
/// Returns the object `peakmark` of a case's row in a run file, which is also the line that a worker writes.
json_fields::Json to_json(const Observation& observation);
/// Throws nlohmann's exceptions, naming the field, and UsageError for an unknown outcome.
Observation observation_from_json(const json_fields::Json& json);

/// Returns the object `throughput` of a case: in its row of a run file, and in every report of a case as
/// JSON.
json_fields::Json to_json(const Throughput& throughput);

}  // namespace peakmark
