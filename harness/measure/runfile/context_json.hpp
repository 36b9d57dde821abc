#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/text_file.hpp"
#include "measure/runfile/json_fields.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {

/// Returns the object `context.peakmark` of a run file, which is also in the first line of a partial run,
/// without its list `planned`. The list may have millions of cases, and a JSON value takes several times the
/// memory of its text.
json_fields::Json to_json(const RunContext& context);
/// Writes `text`, a JSON document whose last list is empty, with the planned cases in that list, `depth`
/// levels deep. `indent` −1: all on one line.
void write_with_planned(std::string_view text, const std::vector<PlannedCase>& planned, int indent, int depth,
                        const TextSink& sink);
/// `json` must have `planned`. Throws nlohmann's exceptions, naming the field, and UsageError for another
/// major version.
RunContext run_context_from_json(const json_fields::Json& json);

/// One case in `planned`.
json_fields::Json to_json(const PlannedCase& planned);
PlannedCase planned_case_from_json(const json_fields::Json& json);

/// Returns the start of a line that is `depth` levels deep; empty for `indent` −1.
std::string line_start(int indent, int depth);
/// Returns the text of `json` as part of another value, `depth` levels deep.
std::string nested_text(const json_fields::Json& json, int indent, int depth);

/// Returns the output of `list --json`: suite, fingerprint and cases, each as in `context.peakmark.planned`.
std::string list_json(const Suite& suite, const std::vector<PlannedCase>& cases);

}  // namespace peakmark
