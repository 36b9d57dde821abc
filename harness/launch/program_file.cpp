#include "launch/program_file.hpp"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <string>

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// Header and Segment: of 32 or of 64 bits.
template <typename Header, typename Segment>
bool has_interpreter(std::ifstream& file) {
  Header header{};
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return true;
  if (header.e_phentsize != sizeof(Segment)) return true;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Segment segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return true;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

}  // namespace

bool is_static_program(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  unsigned char start[EI_NIDENT] = {};
  if (!file.read(reinterpret_cast<char*>(start), sizeof(start)) || std::memcmp(start, ELFMAG, SELFMAG) != 0) {
    return false;
  }
  // The dynamic loader has none either, and may be started itself: ld.so PROGRAM.
  if (path.filename().string().find(".so") != std::string::npos) return false;
  return start[EI_CLASS] == ELFCLASS64 ? !has_interpreter<Elf64_Ehdr, Elf64_Phdr>(file)
                                       : !has_interpreter<Elf32_Ehdr, Elf32_Phdr>(file);
}

}  // namespace peakmark
