#pragma once

#include <span>
#include <vector>

#include "kernels/backprojection/geometry.hpp"

namespace peakmark {

/// A model of the texture unit: linear filtering and border addressing of a 2-D texture of float, as the CUDA
/// C++ Programming Guide has them ("Texture Fetching", "Linear Filtering"). The weights of the four texels
/// are fixed-point numbers of `fraction_bits` bits, 8 on NVIDIA's devices. The guide leaves open whether they
/// are rounded or truncated.
struct TextureUnit {
  int fraction_bits = 8;
  bool rounds = true;
  double texel_centre = 0.5;  ///< coordinate of the middle of texel 0
};

/// Back-projects one sinogram (n_a, w) with the kernel of texture.kernel.h, compiled for the host. Returns
/// the region of its slice (h, w).
std::vector<float> backproject_texture_on_host(const BackprojectionGeometry& geometry,
                                               const TextureUnit& unit, std::span<const float> sinogram);

}  // namespace peakmark
