#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

namespace peakmark {

/// Bytes that a CUDA array holds, without the padding the driver adds. Null for formats whose planes are
/// packed (YUV, block-compressed on odd sizes is rounded up to whole blocks).
std::optional<std::int64_t> array_bytes(const CUDA_ARRAY_DESCRIPTOR& array);
std::optional<std::int64_t> array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array);
/// The sum over `levels` levels, each half as large as the one before it, layers kept. Levels are clamped to
/// [1, 1 + ⌊log2(max(width, height, depth))⌋]. 0 for sparse arrays and those mapped later: they hold nothing.
std::optional<std::int64_t> mipmapped_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned levels);

/// a · b, and the largest number where that does not fit: a request that large is refused by the driver
/// anyway.
std::int64_t saturating_multiply(std::uint64_t a, std::uint64_t b);

}  // namespace peakmark
