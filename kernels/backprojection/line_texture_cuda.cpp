#include <cuda_runtime_api.h>

#include "device/cuda/cuda_backend.hpp"
#include "kernels/backprojection/line_texture.hpp"

namespace peakmark {

LineTexture::LineTexture(const Array& sinograms, Size offset, Size n_a, Size w, const Device& device) {
  if (device.info().backend != Backend::cuda) return;
  cudaResourceDesc memory{};
  memory.resType = cudaResourceTypePitch2D;
  memory.res.pitch2D.devPtr = reinterpret_cast<float*>(sinograms.buffer().handle()) + offset;
  memory.res.pitch2D.desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  memory.res.pitch2D.width = static_cast<std::size_t>(w);
  memory.res.pitch2D.height = static_cast<std::size_t>(n_a);
  memory.res.pitch2D.pitchInBytes = static_cast<std::size_t>(w) * sizeof(float);
  cudaTextureDesc reading{};
  for (cudaTextureAddressMode& mode : reading.addressMode) mode = cudaAddressModeBorder;
  reading.filterMode = cudaFilterModeLinear;
  reading.readMode = cudaReadModeElementType;
  cudaTextureObject_t texture = 0;
  check_cuda(cudaCreateTextureObject(&texture, &memory, &reading, nullptr), "bind a texture to a sinogram");
  handle_ = texture;
}

LineTexture::~LineTexture() {
  if (handle_ != 0) cudaDestroyTextureObject(handle_);
}

}  // namespace peakmark
