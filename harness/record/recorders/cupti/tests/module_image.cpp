#include "record/recorders/cupti/tests/module_image.hpp"

#include <elf.h>

#include <charconv>
#include <cstring>
#include <map>
#include <regex>
#include <string_view>

namespace fake_cuda {
namespace {

constexpr std::string_view kText = ".text.";
constexpr std::string_view kShared = ".nv.shared.";

/// A cubin: a section `.text.NAME` for each kernel, with its registers in the upper byte of sh_info (not in
/// those of CUDA 13), and `.nv.shared.NAME`. Variables are symbols of the type object.
ModuleImage read_elf(const char* image) {
  ModuleImage result{.is_known = true, .kernels = {}, .globals = {}};
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image + header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
  if (header.e_shstrndx >= sections.size()) return result;
  const char* const names = image + sections[header.e_shstrndx].sh_offset;
  std::map<std::string, int, std::less<>> shared;
  for (const Elf64_Shdr& section : sections) {
    const std::string_view name = names + section.sh_name;
    if (name.starts_with(kShared))
      shared[std::string(name.substr(kShared.size()))] = static_cast<int>(section.sh_size);
  }
  for (const Elf64_Shdr& section : sections) {
    const std::string_view name = names + section.sh_name;
    if (name.starts_with(kText)) {
      const std::string kernel(name.substr(kText.size()));
      ModuleImage::Kernel made{.name = kernel, .shared_bytes = shared[kernel]};
      if (section.sh_info >> 24 != 0) made.registers = static_cast<int>(section.sh_info >> 24);
      result.kernels.push_back(made);
    }
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const char* const strings = image + sections[section.sh_link].sh_offset;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image + section.sh_offset + at, sizeof(symbol));
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_shndx != SHN_UNDEF)
        result.globals.emplace_back(strings + symbol.st_name, symbol.st_size);
    }
  }
  return result;
}

std::size_t bytes_of_type(std::string_view type) {
  // Reads .b8 .u16 .s32 .f64: the digits are the number of bits.
  std::size_t bits = 0;
  const auto digits = type.substr(1);
  std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  return bits / 8;
}

ModuleImage read_ptx(const std::string& text) {
  ModuleImage result{.is_known = true, .kernels = {}, .globals = {}};
  static const std::regex kEntry(R"(\.entry\s+([A-Za-z_$%][\w$]*))");
  for (std::sregex_iterator at(text.begin(), text.end(), kEntry), end; at != end; ++at)
    result.kernels.push_back({.name = (*at)[1].str()});
  static const std::regex kVariable(
      R"((?:^|\n)\s*(?:\.visible\s+)?\.(?:global|const)\s+(?:\.attribute\([^)]*\)\s+)?(?:\.align\s+\d+\s+)?\.([busf]\d+)\s+([A-Za-z_$%][\w$]*)(?:\[(\d+)\])?)");
  for (std::sregex_iterator at(text.begin(), text.end(), kVariable), end; at != end; ++at) {
    const std::size_t count = (*at)[3].matched ? std::stoull((*at)[3].str()) : 1;
    result.globals.emplace_back((*at)[2].str(), bytes_of_type((*at)[1].str()) * count);
  }
  return result;
}

}  // namespace

ModuleImage read_image(const void* image) {
  const auto* const bytes = static_cast<const char*>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) == 0) return read_elf(bytes);
  // PTX begins with comments, or with its version. It ends with a zero.
  const bool is_text =
      std::strncmp(bytes, "//", 2) == 0 || std::strncmp(bytes, ".version", 8) == 0 || bytes[0] == '\n';
  return is_text ? read_ptx(bytes) : ModuleImage{};
}

}  // namespace fake_cuda
