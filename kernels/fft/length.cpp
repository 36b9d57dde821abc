#include "kernels/fft/length.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace peakmark {

bool is_seven_smooth(Size length) {
  for (const Size prime : {2, 3, 5, 7})
    while (length % prime == 0) length /= prime;
  return length == 1;
}

// Every product of 3, 5 and 7 is tried with the least power of two that makes it long enough: some thousand
// products in all of 64 bits, where going from number to number would take 10^8 steps and more.
Size next_fft_length(Size least) {
  const auto quarter = static_cast<std::uint64_t>(least <= 4 ? 1 : checked_add(least, 3) / 4);
  // At most 2^61, so that 7 times what is below it fits.
  std::uint64_t best = std::bit_ceil(quarter);
  for (std::uint64_t sevens = 1; sevens < best; sevens *= 7)
    for (std::uint64_t fives = sevens; fives < best; fives *= 5)
      for (std::uint64_t odd = fives; odd < best; odd *= 3)
        best = std::min(best, odd * std::bit_ceil((quarter + odd - 1) / odd));
  return checked_multiply(4, static_cast<Size>(best));
}

}  // namespace peakmark
