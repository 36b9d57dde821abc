#pragma once

#include <chrono>
#include <string>

namespace peakmark {

/// Writes nanoseconds for people, with at most four digits: `850 ns`, `1.5 us`, `12.3 ms`, `2 s`.
std::string format_duration(double nanoseconds);

/// A moment as files hold it: `2026-01-31T02:00:00Z`.
std::string utc_date(std::chrono::system_clock::time_point when = std::chrono::system_clock::now());

}  // namespace peakmark
