#include "kernels/fft/length.hpp"

namespace peakmark {

bool is_seven_smooth(Size length) {
  for (const Size prime : {2, 3, 5, 7})
    while (length % prime == 0) length /= prime;
  return length == 1;
}

Size next_fft_length(Size least) {
  Size quarter = least <= 4 ? 1 : checked_add(least, 3) / 4;
  while (!is_seven_smooth(quarter)) quarter = checked_add(quarter, 1);
  return checked_multiply(4, quarter);
}

}  // namespace peakmark
