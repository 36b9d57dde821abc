#pragma once

#include <string>

namespace peakmark {

/// Writes nanoseconds for people, with at most four digits: `850 ns`, `1.5 us`, `12.3 ms`, `2 s`.
std::string format_duration(double nanoseconds);

}  // namespace peakmark
