#pragma once

// Cases for the tests of padding, as in a suite, drawn from a seed.

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "measure/sweep/parameters.hpp"

namespace peakmark {

/// An odd image with four different pads. One pad is 0 in every other case, and one is longer than the image.
inline Parameters drawn_parameters(const std::string& mode, const std::string& dtype, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](Size least, Size most) {
    return least + static_cast<Size>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  const Size ny = between(1, 23);
  const Size nx = between(1, 71);
  std::vector<Size> pads = {seed % 2 == 0 ? 0 : between(1, 9), between(10, 19), between(20, 29),
                            3 * std::max(ny, nx) + between(30, 39)};
  std::ranges::shuffle(pads, random);
  Parameters parameters;
  parameters.set("mode", mode);
  parameters.set("dtype", dtype);
  parameters.set("n", between(1, 4));
  parameters.set("ny", ny);
  parameters.set("nx", nx);
  parameters.set("pad_y0", pads[0]);
  parameters.set("pad_y1", pads[1]);
  parameters.set("pad_x0", pads[2]);
  parameters.set("pad_x1", pads[3]);
  return parameters;
}

}  // namespace peakmark
