#pragma once

#include <cstdint>

#include "peakmark/worker/device.hpp"

namespace peakmark {

/// A texture of one sinogram of an array on a CUDA device. It is bound to the memory of the array, without a
/// copy, and must be destroyed before that memory and after the kernels that use it. Does nothing on `dry`.
class LineTexture {
 public:
  /// `sinograms` has f32 elements; the sinogram has n_a lines of w columns, from element `offset` on.
  LineTexture(const DeviceArray& sinograms, Size offset, Size n_a, Size w, const Device& device);
  ~LineTexture();
  LineTexture(const LineTexture&) = delete;
  LineTexture& operator=(const LineTexture&) = delete;
  /// cudaTextureObject_t
  [[nodiscard]] std::uint64_t handle() const { return handle_; }

  /// Throws Unsupported, with the requirement, if linear memory cannot be bound: rows must start at multiples
  /// of 32 bytes (w a multiple of 8), each of `n_z` sinograms at a multiple of 512 (n_a·w a multiple of 128),
  /// at most 65,000 lines of 131,072 columns. (CUDA C++ Programming Guide, "Compute Capabilities", and the
  /// devices' textureAlignment and texturePitchAlignment: the same for 7.5 to 9.0.)
  static void check(Size n_z, Size n_a, Size w);

 private:
  std::uint64_t handle_ = 0;
};

}  // namespace peakmark
