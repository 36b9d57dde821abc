#include "record/recorders/cupti/allocation_size.hpp"

#include <elf.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "record/recorders/cupti/newer_cuda.hpp"

namespace peakmark {
namespace {

/// The size of a texel, or of a block of 4 × 4 texels.
struct Texel {
  unsigned bytes;
  unsigned side;
};

std::optional<Texel> texel_size(CUarray_format format, unsigned channels) {
  // Not a case below, because headers before CUDA 12.8 have no such enumerator.
  if (format == CU_AD_FORMAT_UNORM_INT_101010_2) return Texel{4, 1};
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
      return Texel{4 * channels, 1};
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
  const auto texel = texel_size(array.Format, array.NumChannels);
  if (!texel) return std::nullopt;
  return level_bytes(*texel, array.Width, array.Height, 1);
}

std::optional<std::int64_t> array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  return mipmapped_array_bytes(array, 1);
}

std::optional<std::int64_t> mipmapped_array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& array, unsigned levels) {
  // Their memory is mapped later, by cuMemMapArrayAsync or from outside.
  if ((array.Flags & (CUDA_ARRAY3D_SPARSE | CUDA_ARRAY3D_DEFERRED_MAPPING)) != 0) return 0;
  const auto texel = texel_size(array.Format, array.NumChannels);
  if (!texel) return std::nullopt;
  // The depth of a layered array or a cubemap is the number of layers or faces: every level has all of them.
  const bool layers = (array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP)) != 0;
  const auto halved = [](std::uint64_t extent, unsigned level) {
    return extent == 0 ? 0 : std::max<std::uint64_t>(level < 64 ? extent >> level : 0, 1);
  };
  // The driver clamps to [1, 1 + ⌊log2 of the largest extent⌋].
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

namespace {

/// Returns a copy, because an image may not be aligned. Null if it would extend beyond the end of the image.
template <typename T>
std::optional<T> read(std::span<const std::byte> image, std::uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

/// Returns the string at this offset; empty if it has no end in the image.
std::string_view text_at(std::span<const std::byte> image, std::uint64_t offset) {
  if (offset >= image.size()) return {};
  const auto* const text = reinterpret_cast<const char*>(image.data() + offset);
  const void* const end = std::memchr(text, '\0', image.size() - offset);
  return end == nullptr
             ? std::string_view()
             : std::string_view(text, static_cast<std::size_t>(static_cast<const char*>(end) - text));
}

}  // namespace

std::int64_t module_globals_bytes(std::span<const std::byte> image) {
  const auto header = read<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_shentsize != sizeof(Elf64_Shdr)) {
    return 0;
  }
  const auto section_at = [&](std::uint64_t index) {
    return read<Elf64_Shdr>(image, header->e_shoff + index * sizeof(Elf64_Shdr));
  };
  const auto names = section_at(header->e_shstrndx);
  if (!names) return 0;
  std::int64_t bytes = 0;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = section_at(i);
    if (!section) return 0;
    const std::string_view name = text_at(image, names->sh_offset + section->sh_name);
    if (name != ".nv.global" && name != ".nv.global.init" && name != ".nv.constant3") continue;
    if (__builtin_add_overflow(bytes, section->sh_size, &bytes)) return 0;
  }
  return bytes;
}

}  // namespace peakmark
