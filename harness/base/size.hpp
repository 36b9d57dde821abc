#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace peakmark {

/// Bytes, elements, offsets: 64-bit and signed everywhere, so that a difference is never a huge number.
using Size = std::int64_t;

/// a + b, a − b, a · b. Throw OverflowError, naming both numbers, when the result does not fit 64 bits.
Size checked_add(Size a, Size b);
Size checked_subtract(Size a, Size b);
Size checked_multiply(Size a, Size b);

/// a / b, rounded up: the blocks of b that hold a. a ≥ 0, b > 0.
constexpr Size divide_up(Size a, Size b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// Reads `4096`, `24 MB`, `16GiB`, `1.5 GiB`. kB, MB, GB, TB are powers of 1000; KiB, MiB, GiB, TiB of 1024.
/// Throws UsageError when the text is no size, is negative, or is no whole number of bytes.
Size parse_size(std::string_view text);

/// Writes bytes for people, in binary units with at most four digits: `0 B`, `1023 B`, `1.5 KiB`, `16 GiB`.
std::string format_size(Size bytes);

}  // namespace peakmark
