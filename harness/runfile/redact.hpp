#pragma once

#include <string>

#include "base/private_text.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

/// `texts` with those that JSON of peakmark holds itself: the names of its hosts, the owners of home folders
/// in it, and the values of variables that are not published.
PrivateTexts with_texts_of_json(PrivateTexts texts, const std::string& json);

/// What peakmark wrote as JSON, or as lines of it (run file, `RUN.partial`, exports, `--json` of commands),
/// as it may be published: without host names, variables that are not published, secrets, names, absolute
/// paths and arguments of recorded programs. Figures and the names of cases stay. Returns the same text where
/// nothing is to be removed. Throws UsageError where it is no JSON.
std::string redacted_json(const std::string& text, const PrivateTexts& texts);

/// A profile (its bytes) with the name of its program only, without arguments; paths, names and secrets in
/// its texts are replaced, and no event is lost. Throws UsageError where it is no profile of this version.
std::string redacted_profile(std::string bytes, const PrivateTexts& texts);

/// Replaces secrets, names and absolute paths in the messages that programs and estimators wrote.
void publish_texts(Observation& observation, const PrivateTexts& texts);

/// The same for the warnings of a run; removes facts of its environment that are not published.
void publish_texts(RunContext& context, const PrivateTexts& texts);

}  // namespace peakmark
