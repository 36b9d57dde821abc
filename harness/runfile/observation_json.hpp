#pragma once

#include "runfile/json_fields.hpp"
#include "runfile/observation.hpp"
#include "runfile/throughput.hpp"

namespace peakmark {

/// The object `peakmark` of a case's row in a run file, which is also the line that a worker writes.
nlohmann::ordered_json to_json(const Observation& observation);
/// Throws nlohmann's exceptions, naming the field, and UsageError for an unknown outcome.
Observation observation_from_json(const nlohmann::ordered_json& json);

/// The object `throughput` of a case: in its row of a run file, and wherever a case is reported as JSON.
nlohmann::ordered_json to_json(const Throughput& throughput);

}  // namespace peakmark
