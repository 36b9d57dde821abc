#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run/observation.hpp"

namespace peakmark {

/// The object `peakmark` of a case's row in a run file, which is also the line that a worker writes.
nlohmann::ordered_json to_json(const Observation& observation);
/// Throws nlohmann's exceptions, naming the field, and UsageError for an unknown outcome.
Observation observation_from_json(const nlohmann::ordered_json& json);

}  // namespace peakmark
