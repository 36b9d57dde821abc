#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "record/ledger/repetitions.hpp"
#include "record/show/process_tree.hpp"

namespace peakmark {

/// Returns the repeated phases of a process, with call chains whose functions are named from the files of its
/// libraries if the recorder found no names. Null if the profile is folded: then most allocations are only
/// counted.
std::optional<std::vector<RepeatedPhase>> find_repetitions(const RecordedProcess& process);

/// Returns a table of the phases with their verdicts, and a table of the memory that their repetitions leave
/// behind; empty without phases.
std::string repetitions_text(const std::vector<RepeatedPhase>& phases);

/// Returns only the latter.
std::string growth_text(const std::vector<RepeatedPhase>& phases);

/// Returns one line: `leak: 64 KiB (65536 B) each time`, `steady`, ….
std::string verdict_text(const RepeatedPhase& phase);

/// Returns JSON: [{`phase`, `live_before_bytes`, `live_after_bytes`, `peak_bytes` (lists),
/// `peak_drift_bytes`, `growth`}] (docs/formats.md).
nlohmann::ordered_json repetitions_json(const std::vector<RepeatedPhase>& phases);

}  // namespace peakmark
