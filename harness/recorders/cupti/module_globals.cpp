#include "recorders/cupti/module_globals.hpp"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>

namespace peakmark {
namespace {

/// A copy, since an image need not be aligned. Null where it would lie beyond the image's end.
template <typename T>
std::optional<T> read(std::span<const std::byte> image, std::uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof(T));
  return value;
}

/// The text that begins there; empty where it has no end in the image.
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
