#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/size.hpp"

namespace peakmark {

/// By how many bytes a peak may grow before that is a regression: `--allow-growth`. The one implementation:
/// check, compare and trends ask it. The default allows nothing.
struct GrowthAllowance {
  Size bytes = 0;
  std::int64_t billionths = 0;  ///< of the base; then `bytes` is 0
  std::string text = "0 B";     ///< as it was typed

  [[nodiscard]] bool is_zero() const { return bytes == 0 && billionths == 0; }
  /// The bytes by which `base` may grow, rounded down. base ≥ 0.
  [[nodiscard]] Size of(Size base) const;
  /// Whether `next` is more than `base`, by no more than is allowed.
  [[nodiscard]] bool covers(Size base, Size next) const { return next > base && next - base <= of(base); }
  /// Whether `next` is more than `base` and that is not allowed.
  [[nodiscard]] bool is_exceeded(Size base, Size next) const { return next > base && !covers(base, next); }
  /// `allowed growth: 64KiB (--allow-growth)`, for every output; empty where nothing is allowed.
  [[nodiscard]] std::string note() const;
};

/// Reads a size (`64KiB`) or a percentage of the base (`0.1%`, at most 100 %). Throws UsageError.
GrowthAllowance parse_growth_allowance(std::string_view text);

}  // namespace peakmark
