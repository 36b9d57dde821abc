// Defines the CUDA C++ functions that texture.kernel.h uses for the host, then includes the kernel.
#include "kernels/backprojection/tests/texture_on_host.hpp"

#include <cmath>
#include <cstdint>

namespace peakmark {
namespace {

struct Texture {
  TextureUnit unit;
  std::span<const float> texels;
  Size w, h;

  /// A texel outside the array is 0 (border addressing).
  [[nodiscard]] float texel(Size i, Size j) const {
    return i < 0 || i >= w || j < 0 || j >= h ? 0 : texels[static_cast<std::size_t>(j * w + i)];
  }
  [[nodiscard]] float weight(double fraction) const {
    const double steps = std::ldexp(fraction, unit.fraction_bits);
    return static_cast<float>(
        std::ldexp(unit.rounds ? std::round(steps) : std::floor(steps), -unit.fraction_bits));
  }
  [[nodiscard]] float fetch(float x, float y) const {
    const double at_x = static_cast<double>(x) - unit.texel_centre;
    const double at_y = static_cast<double>(y) - unit.texel_centre;
    const auto i = static_cast<Size>(std::floor(at_x));
    const auto j = static_cast<Size>(std::floor(at_y));
    const float alpha = weight(at_x - std::floor(at_x));
    const float beta = weight(at_y - std::floor(at_y));
    return (1 - alpha) * (1 - beta) * texel(i, j) + alpha * (1 - beta) * texel(i + 1, j) +
           (1 - alpha) * beta * texel(i, j + 1) + alpha * beta * texel(i + 1, j + 1);
  }
};

struct Index {
  unsigned x, y, z;
};
thread_local Index blockIdx{}, blockDim{}, threadIdx{};

/// A type of 16 bytes that the kernel language needs.
struct uint4 {
  unsigned x, y, z, w;
};

using cudaTextureObject_t = unsigned long long;

template <typename T>
T tex2D(cudaTextureObject_t texture, float x, float y) {
  return reinterpret_cast<const Texture*>(static_cast<std::uintptr_t>(texture))->fetch(x, y);
}

#define __CUDACC__
#define __global__
#define __device__
#define __forceinline__ inline
#define PM_DTYPE_f32
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#include "measure/device/kernel_language.h"

// After the macros that it uses.
#include "kernels/backprojection/texture.kernel.h"
#pragma GCC diagnostic pop

}  // namespace

std::vector<float> backproject_texture_on_host(const BackprojectionGeometry& geometry,
                                               const TextureUnit& unit, std::span<const float> sinogram) {
  const SliceFrame frame = slice_frame(geometry);
  const SliceRegion& region = frame.region;
  std::vector<float> cosines, sines;
  for (const LineView& view : line_views(geometry)) {
    cosines.push_back(static_cast<float>(view.cosine));
    sines.push_back(static_cast<float>(view.sine));
  }
  const std::vector<float> corrections(geometry.corrections.begin(), geometry.corrections.end());
  std::vector<float> slice(static_cast<std::size_t>(frame.slice_shape().elements()), NAN);
  const Texture texture{unit, sinogram, geometry.w, geometry.n_a};
  const Size groups = ((region.h + TILE - 1) / TILE) * ((region.w + TILE - 1) / TILE);
  blockDim = {GROUP, 1, 1};
  for (Size group = 0; group < groups; ++group)
    for (unsigned item = 0; item < GROUP; ++item) {
      blockIdx = {static_cast<unsigned>(group), 0, 0};
      threadIdx = {item, 0, 0};
      backproject_texture(slice.data(), 0, reinterpret_cast<std::uintptr_t>(&texture), cosines.data(),
                          sines.data(), corrections.data(), corrections.empty() ? 0 : 1, geometry.n_a,
                          region.y0, region.x0, region.h, region.w, frame.side, geometry.clip ? 1 : 0,
                          static_cast<float>(geometry.axis), static_cast<float>(frame.axis),
                          static_cast<float>(overlap_slope(geometry)));
    }
  return slice;
}

}  // namespace peakmark
