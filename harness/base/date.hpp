#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace peakmark {

struct ParsedDate {
  std::chrono::system_clock::time_point moment;
  bool has_offset = false;  ///< false: the text has no time zone, and was read as UTC
};

/// Parses a day, alone or with a time and an offset: `2026-01-31`, `2026-01-31T02:00:00+01:00`,
/// `2026-01-31 02:00:00`. Returns nullopt for other texts, days that do not exist, and years before 1970 or
/// after 2261, which the clock cannot represent.
std::optional<ParsedDate> parse_date(std::string_view text);

}  // namespace peakmark
