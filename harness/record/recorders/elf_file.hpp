#pragma once

#include <cstddef>
#include <string_view>

namespace peakmark {

/// An ELF file, mapped to find OpenCL loaders and drivers among other libraries, since their file names vary.
/// Allocates nothing, because the recorder uses it too. An unreadable file defines no functions.
class ElfFile {
 public:
  explicit ElfFile(const char* path);
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;
  ~ElfFile();

  /// Returns true if a function of this name is defined: exported, or in the symbol table of a file that is
  /// not stripped.
  [[nodiscard]] bool defines(std::string_view function) const;
  [[nodiscard]] bool contains(std::string_view text) const { return bytes_.find(text) != text.npos; }

 private:
  std::string_view bytes_;
};

/// Returns true for a library or a program with an OpenCL loader in it. A stripped one that does not export
/// its functions is not found.
bool has_opencl_loader(const ElfFile& file);

/// Returns true for a driver that OpenCL loaders load.
bool is_opencl_driver(const ElfFile& file);

/// Returns true for loaders, also hidden ones, because they query a driver's platforms by name. Also true for
/// drivers.
bool asks_opencl_drivers(const ElfFile& file);

/// Returns true if an OpenCL loader supports layers: it reads OPENCL_LAYERS.
bool supports_layers(const ElfFile& file);

}  // namespace peakmark
