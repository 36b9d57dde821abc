#pragma once

#include <string>

namespace peakmark {

/// `Release`, `Debug, address,undefined`: build type and sanitizers.
std::string build_type();
/// Of the sources this was built from, `+` behind it where they were changed; empty where unknown.
std::string build_commit();

}  // namespace peakmark
