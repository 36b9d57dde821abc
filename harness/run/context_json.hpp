#pragma once

#include <nlohmann/json_fwd.hpp>

#include "run/run_file.hpp"

namespace peakmark {

/// The object `context.peakmark` of a run file, and the first line of a partial run.
nlohmann::ordered_json to_json(const RunContext& context);
/// Throws nlohmann's exceptions, naming the field, and UsageError for another major version.
RunContext run_context_from_json(const nlohmann::ordered_json& json);

/// One case as it stands in `planned`.
nlohmann::ordered_json to_json(const PlannedCase& planned);

}  // namespace peakmark
