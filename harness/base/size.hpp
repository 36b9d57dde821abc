#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace peakmark {

/// Bytes, elements or offsets: always 64-bit and signed, so that a difference may be negative.
using Size = std::int64_t;

/// Return a + b, a − b, a · b. Throw OverflowError with both numbers if the result does not fit 64 bits.
Size checked_add(Size a, Size b);
Size checked_subtract(Size a, Size b);
Size checked_multiply(Size a, Size b);

/// Returns a / b, rounded up. a ≥ 0, b > 0.
constexpr Size divide_up(Size a, Size b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Reads `4096`, `24 MB`, `16GiB`, `1.5 GiB`. kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB of 1024.
/// Throws UsageError if the text is not a size, is negative, or is not a whole number of bytes.
Size parse_size(std::string_view text);

/// Returns bytes for users, in binary units with at most four digits: `0 B`, `1023 B`, `1.5 KiB`, `16 GiB`.
std::string format_size(Size bytes);

/// The growth of a peak that does not yet count as a regression (`--allow-growth`), for check, compare and
/// trends. The default allows none.
struct GrowthAllowance {
  Size bytes = 0;
  std::int64_t billionths = 0;  ///< share of the base; if not 0, `bytes` is 0
  std::string text = "0 B";     ///< as typed

  [[nodiscard]] bool is_zero() const { return bytes == 0 && billionths == 0; }
  /// Returns the bytes by which `base` may grow, rounded down. base ≥ 0.
  [[nodiscard]] Size of(Size base) const;
  /// Returns whether `next` is more than `base`, within the allowance.
  [[nodiscard]] bool covers(Size base, Size next) const { return next > base && next - base <= of(base); }
  /// Returns whether `next` is more than `base` plus the allowance.
  [[nodiscard]] bool is_exceeded(Size base, Size next) const { return next > base && !covers(base, next); }
  /// Returns `allowed growth: 64KiB (--allow-growth)` for reports; empty if no growth is allowed.
  [[nodiscard]] std::string note() const;
};

/// Reads a size (`64KiB`) or a percentage of the base (`0.1%`, at most 100 %). Throws UsageError.
GrowthAllowance parse_growth_allowance(std::string_view text);

}  // namespace peakmark
