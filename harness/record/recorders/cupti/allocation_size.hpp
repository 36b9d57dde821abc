#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace peakmark {

/// Returns the bytes of a CUDA array, without the padding that the driver adds. Null for packed formats
/// (YUV). Block-compressed arrays are rounded up to whole blocks.
std::optional<std::int64_t> array_bytes(const CUDA_ARRAY_DESCRIPTOR& array);
std::optional<std::int64_t> array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array);
/// Returns the sum over `levels` levels; each is half as large as the one before, but has as many layers.
/// Levels are clamped to [1, 1 + ⌊log2(max(width, height, depth))⌋]. 0 for sparse arrays and deferred
/// mappings, which have no memory yet.
std::optional<std::int64_t> mipmapped_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned levels);

/// Returns a · b, or the largest number if that overflows: the driver refuses such a request anyway.
std::int64_t saturating_multiply(std::uint64_t a, std::uint64_t b);

/// Returns the bytes of a module's variables on the device: the sections .nv.global (__device__,
/// __managed__), .nv.global.init (initialised variables, printf formats) and .nv.constant3 (__constant__) of
/// its image, a device ELF file. 0 for anything else, and for a truncated image.
std::int64_t module_globals_bytes(std::span<const std::byte> image);

}  // namespace peakmark
