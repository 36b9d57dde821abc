#include "record/recorders/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace peakmark {
namespace {

constexpr std::string_view kFolderOfDrivers = "OpenCL/vendors";  // the folder that loaders search

/// Returns the bytes of a part of the file; empty if it is not within the file.
std::string_view part(std::string_view file, std::size_t offset, std::size_t size) {
  return offset <= file.size() && size <= file.size() - offset ? file.substr(offset, size)
                                                               : std::string_view();
}

/// Returns the entry with number `index` of a table; zeros if it is outside the table.
template <typename Entry>
Entry entry(std::string_view table, std::size_t index) {
  Entry one{};
  if (index < table.size() / sizeof(Entry))
    std::memcpy(&one, table.data() + index * sizeof(Entry), sizeof(Entry));
  return one;
}

bool defines_in(std::string_view symbols, std::string_view names, std::string_view function) {
  for (std::size_t i = 0; i < symbols.size() / sizeof(ElfW(Sym)); ++i) {
    const auto symbol = entry<ElfW(Sym)>(symbols, i);
    if (symbol.st_shndx == SHN_UNDEF || (symbol.st_info & 0xfU) != STT_FUNC) continue;
    const std::string_view name = part(names, symbol.st_name, function.size() + 1);
    if (name.starts_with(function) && name.back() == '\0') return true;
  }
  return false;
}

}  // namespace

ElfFile::ElfFile(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  struct stat status {};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped != MAP_FAILED) bytes_ = {static_cast<const char*>(mapped), size};
  }
  close(file);
}

ElfFile::~ElfFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

bool ElfFile::defines(std::string_view function) const {
  const auto header = entry<ElfW(Ehdr)>(bytes_, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(ElfW(Shdr)))
    return false;
  const std::string_view sections =
      part(bytes_, header.e_shoff, std::size_t{header.e_shnum} * sizeof(ElfW(Shdr)));
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const auto section = entry<ElfW(Shdr)>(sections, i);
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    const auto names = entry<ElfW(Shdr)>(sections, section.sh_link);
    if (defines_in(part(bytes_, section.sh_offset, section.sh_size),
                   part(bytes_, names.sh_offset, names.sh_size), function)) {
      return true;
    }
  }
  return false;
}

bool has_opencl_loader(const ElfFile& file) {
  return file.defines("clGetPlatformIDs") && file.contains(kFolderOfDrivers) && asks_opencl_drivers(file);
}

bool is_opencl_driver(const ElfFile& file) {
  return file.defines("clGetExtensionFunctionAddress") && asks_opencl_drivers(file) &&
         !file.contains(kFolderOfDrivers);
}

bool asks_opencl_drivers(const ElfFile& file) {
  return file.contains("clIcdGetPlatformIDsKHR");
}

bool supports_layers(const ElfFile& file) {
  return file.contains("OPENCL_LAYERS");
}

}  // namespace peakmark
