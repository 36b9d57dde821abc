#include "kernels/backprojection/line_texture.hpp"

#include <fmt/format.h>

#ifdef PEAKMARK_HAS_CUDA
#include <cuda_runtime_api.h>

#include <stdexcept>
#endif

namespace peakmark {

#ifdef PEAKMARK_HAS_CUDA
LineTexture::LineTexture(const DeviceArray& sinograms, Size offset, Size n_a, Size w, const Device& device) {
  if (device.backend() != "cuda") return;
  cudaResourceDesc memory{};
  memory.resType = cudaResourceTypePitch2D;
  memory.res.pitch2D.devPtr = static_cast<float*>(sinograms.cuda()) + offset;
  memory.res.pitch2D.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  memory.res.pitch2D.width = static_cast<std::size_t>(w);
  memory.res.pitch2D.height = static_cast<std::size_t>(n_a);
  memory.res.pitch2D.pitchInBytes = static_cast<std::size_t>(w) * sizeof(float);
  cudaTextureDesc reading{};
  for (cudaTextureAddressMode& mode : reading.addressMode) mode = cudaAddressModeBorder;
  reading.filterMode = cudaFilterModeLinear;
  reading.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  const cudaError_t result = cudaCreateTextureObject(&texture, &memory, &reading, nullptr);
  // The runtime keeps the last error. If it were not cleared, the next launch would report it.
  if (result != cudaSuccess) cudaGetLastError();
  if (result == cudaErrorMemoryAllocation)
    throw OutOfMemory("CUDA has no memory to bind a texture to a sinogram");
  if (result != cudaSuccess)
    throw std::runtime_error(
        fmt::format("CUDA could not bind a texture to a sinogram: {}", cudaGetErrorString(result)));
  handle_ = texture;
}

LineTexture::~LineTexture() {
  if (handle_ != 0) cudaDestroyTextureObject(handle_);
}
#else
// Without CUDA, only `dry` reaches this line, and it has nothing to bind.
LineTexture::LineTexture(const DeviceArray&, Size, Size, Size, const Device&) {}
LineTexture::~LineTexture() = default;
#endif

void LineTexture::check(Size n_z, Size n_a, Size w) {
  constexpr Size kMaxLines = 65'000;
  constexpr Size kMaxColumns = 131'072;
  if (n_a > kMaxLines || w > kMaxColumns)
    throw Unsupported(
        fmt::format("backprojection/texture: a sinogram of {} lines and {} columns; a texture has at "
                    "most {} and {}",
                    n_a, w, kMaxLines, kMaxColumns));
  if (w % 8 != 0)
    throw Unsupported(fmt::format(
        "backprojection/texture: a sinogram {} columns wide; a texture needs a multiple of 8, or a copy", w));
  if (n_z > 1 && n_a * w % 128 != 0)
    throw Unsupported(fmt::format(
        "backprojection/texture: sinograms of {} x {} elements in a stack; a texture needs a multiple "
        "of 128, or a copy",
        n_a, w));
}

}  // namespace peakmark
