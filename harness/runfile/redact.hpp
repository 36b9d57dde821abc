#pragma once

#include <string>

#include "base/private_text.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

/// Adds the private texts that JSON of peakmark has itself: names of hosts, owners of home folders, and
/// values of variables that are not published.
PrivateTexts with_texts_of_json(PrivateTexts texts, const std::string& json);

/// Returns JSON that peakmark wrote, one document or one per line (run file, `RUN.partial`, exports,
/// `--json`), as it may be published: without host names, variables that are not published, secrets, names,
/// absolute paths and arguments of recorded programs. Figures and names of cases stay. Returns the same text
/// if there is nothing to remove. Throws UsageError if it is not JSON.
std::string redacted_json(const std::string& text, const PrivateTexts& texts);

/// Returns the bytes of a profile with the name of its program, without arguments, and with paths, names and
/// secrets in its texts replaced. No event is lost. Throws UsageError if it is not a profile of this version.
std::string redacted_profile(std::string bytes, const PrivateTexts& texts);

/// Replaces secrets, names and absolute paths in the messages that programs and estimators wrote.
void publish_texts(Observation& observation, const PrivateTexts& texts);

/// The same for the warnings of a run. Removes facts of its environment that are not published.
void publish_texts(RunContext& context, const PrivateTexts& texts);

}  // namespace peakmark
