// Where CUDA is not built only `dry` gets here, and has nothing to bind.
#include "kernels/backprojection/line_texture.hpp"

namespace peakmark {

LineTexture::LineTexture(const DeviceArray&, Size, Size, Size, const Device&) {}
LineTexture::~LineTexture() = default;

}  // namespace peakmark
