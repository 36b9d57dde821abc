#include "kernels/backprojection/verify_pixels.hpp"

#include <numeric>

#include "kernels/common/seeded.hpp"

namespace peakmark {

std::map<Size, std::vector<Size>> pixels_to_verify(const Shape& slices, Size n_a, Size interpolations,
                                                   std::uint32_t seed) {
  std::map<Size, std::vector<Size>> pixels;
  const Size rows = slices[0] * slices[1];
  const Size width = slices[2];
  const Size most = std::max<Size>(64, interpolations / n_a);
  if (slices.elements() <= most) {
    std::vector<Size> all(static_cast<std::size_t>(width));
    std::iota(all.begin(), all.end(), Size{0});
    for (Size row = 0; row < rows; ++row) pixels[row] = all;
    return pixels;
  }
  for (const Size row : {Size{0}, slices[1] - 1, rows - 1}) pixels[row] = {0, width - 1};
  const auto drawn = [&](Size i, Size extent) { return static_cast<Size>(seeded_bits(seed, i)) % extent; };
  // Several columns of few rows, since each row is pulled.
  const Size columns = std::min<Size>(width, 64);
  for (Size i = 0; i < most / columns; ++i) {
    std::vector<Size>& row = pixels[drawn(i * (columns + 1), rows)];
    for (Size k = 1; k <= columns; ++k) row.push_back(drawn(i * (columns + 1) + k, width));
  }
  return pixels;
}

}  // namespace peakmark
