#include "kernels/backprojection/line_texture.hpp"

#include <fmt/format.h>

#include "peakmark/worker/case.hpp"

namespace peakmark {

void LineTexture::check(Size n_z, Size n_a, Size w) {
  constexpr Size kMaxLines = 65'000;
  constexpr Size kMaxColumns = 131'072;
  if (n_a > kMaxLines || w > kMaxColumns)
    throw api_1::Unsupported(
        fmt::format("backprojection/texture: a sinogram of {} lines and {} columns; a texture has at "
                    "most {} and {}",
                    n_a, w, kMaxLines, kMaxColumns));
  if (w % 8 != 0)
    throw api_1::Unsupported(fmt::format(
        "backprojection/texture: a sinogram {} columns wide; a texture needs a multiple of 8, or a copy", w));
  if (n_z > 1 && n_a * w % 128 != 0)
    throw api_1::Unsupported(fmt::format(
        "backprojection/texture: sinograms of {} x {} elements in a stack; a texture needs a multiple "
        "of 128, or a copy",
        n_a, w));
}

}  // namespace peakmark
