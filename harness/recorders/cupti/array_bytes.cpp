#include "recorders/cupti/array_bytes.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace peakmark {
namespace {

/// One texel, or one block of 4 × 4 texels.
struct Texel {
  unsigned bytes;
  unsigned side;
};

std::optional<Texel> texel_of(CUarray_format format, unsigned channels) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return Texel{channels, 1};
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return Texel{2 * channels, 1};
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
    case CU_AD_FORMAT_UNORM_INT_101010_2:
      return Texel{format == CU_AD_FORMAT_UNORM_INT_101010_2 ? 4 : 4 * channels, 1};
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X1:
      return Texel{1, 1};
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X1:
      return Texel{2, 1};
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X4:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X2:
      return Texel{4, 1};
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X4:
      return Texel{8, 1};
    case CU_AD_FORMAT_BC1_UNORM:
    case CU_AD_FORMAT_BC1_UNORM_SRGB:
    case CU_AD_FORMAT_BC4_UNORM:
    case CU_AD_FORMAT_BC4_SNORM:
      return Texel{8, 4};
    case CU_AD_FORMAT_BC2_UNORM:
    case CU_AD_FORMAT_BC2_UNORM_SRGB:
    case CU_AD_FORMAT_BC3_UNORM:
    case CU_AD_FORMAT_BC3_UNORM_SRGB:
    case CU_AD_FORMAT_BC5_UNORM:
    case CU_AD_FORMAT_BC5_SNORM:
    case CU_AD_FORMAT_BC6H_UF16:
    case CU_AD_FORMAT_BC6H_SF16:
    case CU_AD_FORMAT_BC7_UNORM:
    case CU_AD_FORMAT_BC7_UNORM_SRGB:
      return Texel{16, 4};
    default:
      return std::nullopt;
  }
}

std::int64_t level_bytes(Texel texel, std::uint64_t width, std::uint64_t height, std::uint64_t depth) {
  const auto blocks = [&](std::uint64_t extent) {
    return extent == 0 ? 1 : extent / texel.side + (extent % texel.side != 0 ? 1 : 0);
  };
  std::int64_t bytes = saturating_multiply(blocks(width), texel.bytes);
  bytes = saturating_multiply(static_cast<std::uint64_t>(bytes), blocks(height));
  return saturating_multiply(static_cast<std::uint64_t>(bytes), std::max<std::uint64_t>(depth, 1));
}

}  // namespace

std::int64_t saturating_multiply(std::uint64_t a, std::uint64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

std::optional<std::int64_t> array_bytes(const CUDA_ARRAY_DESCRIPTOR& array) {
  const auto texel = texel_of(array.Format, array.NumChannels);
  if (!texel) return std::nullopt;
  return level_bytes(*texel, array.Width, array.Height, 1);
}

std::optional<std::int64_t> array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  return mipmapped_array_bytes(array, 1);
}

std::optional<std::int64_t> mipmapped_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned levels) {
  // Memory is mapped into these later, by cuMemMapArrayAsync or from outside.
  if ((array.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) return 0;
  const auto texel = texel_of(array.Format, array.NumChannels);
  if (!texel) return std::nullopt;
  // The depth of a layered array or a cubemap counts layers or faces: it stays in every level.
  const bool layers = (array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const auto halved = [](std::uint64_t extent, unsigned level) {
    return extent == 0 ? 0 : std::max<std::uint64_t>(level < 64 ? extent >> level : 0, 1);
  };
  // As the driver does: [1, 1 + ⌊log2 of the largest extent⌋].
  const std::uint64_t largest = std::max({array.Width, array.Height, array.Depth, std::size_t{1}});
  levels = std::clamp(levels, 1U, static_cast<unsigned>(std::bit_width(largest)));
  std::int64_t total = 0;
  for (unsigned level = 0; level < levels; ++level) {
    const std::int64_t bytes = level_bytes(*texel, halved(array.Width, level), halved(array.Height, level),
                                           layers ? array.Depth : halved(array.Depth, level));
    if (__builtin_add_overflow(total, bytes, &total)) return std::numeric_limits<std::int64_t>::max();
  }
  return total;
}

}  // namespace peakmark
