#pragma once

#include "base/private_text.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// Replaces secrets, names and absolute paths in the messages that programs and estimators wrote.
void publish_texts(Observation& observation, const PrivateTexts& texts);

/// Does the same for the warnings of a run. Removes facts of its environment that must not be published.
void publish_texts(RunContext& context, const PrivateTexts& texts);

}  // namespace peakmark
