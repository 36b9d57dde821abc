#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.hpp"
#include "runfile/json_fields.hpp"
#include "runfile/run_file.hpp"
#include "sweep/suite.hpp"

namespace peakmark {

/// The object `context.peakmark` of a run file, and the first line of a partial run, with an empty list of
/// planned cases, the last one in it: they are millions, and as one value take several times the memory of
/// their text.
nlohmann::ordered_json to_json_without_planned(const RunContext& context);
/// Writes the text of a JSON whose last list is that of such a context, with the planned cases in that list,
/// which is `depth` levels deep. `indent` −1: all on one line.
void write_with_planned(std::string_view text, const std::vector<PlannedCase>& planned, int indent, int depth,
                        const TextSink& sink);
/// Throws nlohmann's exceptions, naming the field, and UsageError for another major version.
RunContext run_context_from_json(const nlohmann::ordered_json& json);

/// One case as it stands in `planned`.
nlohmann::ordered_json to_json(const PlannedCase& planned);
PlannedCase planned_case_from_json(const nlohmann::ordered_json& json);

/// The start of a line `depth` levels deep; `indent` −1: all is on one line.
std::string line_start(int indent, int depth);
/// `json` as it is written `depth` levels within another value.
std::string nested_text(const nlohmann::ordered_json& json, int indent, int depth);

/// The cases of a suite for `list --json`: suite, fingerprint and cases, each as in a run file's
/// `context.peakmark.planned`.
std::string list_json(const Suite& suite, const std::vector<PlannedCase>& cases);

}  // namespace peakmark
