#pragma once

#include <string>
#include <string_view>

namespace peakmark {

/// The band that an estimate must stay in. `check/` says what it means in slices and in bytes.
struct Window {
  double lo = 0.8;
  double hi = 1.0;
  /// Closed at both ends.
  [[nodiscard]] bool contains(double ratio) const { return lo <= ratio && ratio <= hi; }
  friend bool operator==(const Window&, const Window&) = default;
};

/// Reads `0.8:1.0`, any 0 ≤ lo ≤ hi. Throws UsageError.
Window parse_window(std::string_view text);

/// `0.8:1`, the shortest text that is read back to the same window.
std::string to_text(const Window& window);

}  // namespace peakmark
