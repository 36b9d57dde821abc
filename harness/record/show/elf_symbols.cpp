#include "record/show/elf_symbols.hpp"

#include <elf.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <vector>

namespace peakmark {
namespace {

constexpr std::uint64_t kMaxBytes =
    std::uint64_t{1} << 30;  // maximum size of a table, because a damaged file may have any number here

/// Reads `count` records at `offset`. Returns null if the file does not have them.
template <typename Record>
std::optional<std::vector<Record>> records(std::ifstream& file, std::uint64_t offset, std::uint64_t count) {
  if (count > kMaxBytes / sizeof(Record)) return std::nullopt;
  std::vector<Record> all(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(count * sizeof(Record)));
  if (!file) return std::nullopt;
  return all;
}

bool is_readable(const Elf64_Ehdr& header) {
  constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == kOrder && header.e_phentsize == sizeof(Elf64_Phdr) &&
         header.e_shentsize == sizeof(Elf64_Shdr);
}

/// Returns the address of the beginning of the file: 0, except for programs that are not
/// position-independent.
std::uint64_t base_of(const std::vector<Elf64_Phdr>& segments) {
  std::uint64_t base = UINT64_MAX;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD) base = std::min<std::uint64_t>(base, segment.p_vaddr - segment.p_offset);
  }
  return base == UINT64_MAX ? 0 : base;
}

}  // namespace

ElfSymbols::Table ElfSymbols::read(const std::string& path) const {
  Table table;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return table;
  if (std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec > newest_ns_) return table;
  std::ifstream file(path, std::ios::binary);
  const auto headers = records<Elf64_Ehdr>(file, 0, 1);
  if (!headers || !is_readable(headers->front())) return table;
  const Elf64_Ehdr& header = headers->front();
  const auto segments = records<Elf64_Phdr>(file, header.e_phoff, header.e_phnum);
  const auto sections = records<Elf64_Shdr>(file, header.e_shoff, header.e_shnum);
  if (!segments || !sections) return table;
  const auto symtab = std::ranges::find(*sections, Elf64_Word{SHT_SYMTAB}, &Elf64_Shdr::sh_type);
  if (symtab == sections->end() || symtab->sh_link >= sections->size()) return table;
  const Elf64_Shdr& strings = (*sections)[symtab->sh_link];
  const auto symbols = records<Elf64_Sym>(file, symtab->sh_offset, symtab->sh_size / sizeof(Elf64_Sym));
  auto names = records<char>(file, strings.sh_offset, strings.sh_size);
  if (!symbols || !names) return table;
  names->push_back('\0');
  const std::uint64_t base = base_of(*segments);
  for (const Elf64_Sym& symbol : *symbols) {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF) continue;
    if (symbol.st_name >= names->size()) continue;
    table.try_emplace(symbol.st_value - base, Function{symbol.st_size, names->data() + symbol.st_name});
  }
  return table;
}

std::string ElfSymbols::function(const std::string& file, std::uint64_t offset) {
  const auto [found, is_new] = tables_.try_emplace(file);
  if (is_new) found->second = read(file);
  const Table& table = found->second;
  auto above = table.upper_bound(offset);
  if (above == table.begin()) return "";
  const auto& [start, function] = *--above;
  return offset - start < std::max<std::uint64_t>(function.bytes, 1) ? function.name : "";
}

}  // namespace peakmark
