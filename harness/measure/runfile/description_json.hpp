#pragma once

#include <string>
#include <string_view>

#include "measure/sweep/description.hpp"

namespace peakmark {

/// Returns the output of `WORKER --describe`: one JSON object, ended by a newline.
std::string to_json_text(const Description& description);

/// Throws ProtocolError if it is not a description, or has another protocol version (checked first, so that a
/// worker of any version gets this message).
Description description_from_json(std::string_view text);

}  // namespace peakmark
