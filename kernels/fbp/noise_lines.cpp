#include "kernels/fbp/noise_lines.hpp"

#include <algorithm>

namespace peakmark {

std::vector<float> NoiseLines::different(Size which) const {
  std::vector<float> line(static_cast<std::size_t>(w_));
  fill_seeded(std::span(line), kSeedValues, which * w_);
  return line;
}

Generator<float> NoiseLines::generator() const {
  return [w = w_](std::span<float> piece, Size first) {
    while (!piece.empty()) {
      const Size column = first % w;
      const std::size_t now = std::min(piece.size(), static_cast<std::size_t>(w - column));
      fill_seeded(piece.first(now), kSeedValues, at(first / w) * w + column);
      piece = piece.subspan(now);
      first += static_cast<Size>(now);
    }
  };
}

}  // namespace peakmark
