#include "kernels/fbp/noise_lines.hpp"

#include <span>

namespace peakmark {

std::vector<float> NoiseLines::different(Size which) const {
  std::vector<float> line(static_cast<std::size_t>(w_));
  fill_seeded(std::span(line), kPattern.seed, which * w_);
  return line;
}

}  // namespace peakmark
