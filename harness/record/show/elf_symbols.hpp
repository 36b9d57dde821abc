#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace peakmark {

/// Names of functions from the symbol tables of programs and libraries. The recorder gets names from the
/// loader, which knows only exported functions; the symbol table of a program's file has its other functions,
/// too.
class ElfSymbols {
 public:
  /// A file that was changed after `newest_ns` (CLOCK_REALTIME) is not the one that ran, and is not read.
  explicit ElfSymbols(std::int64_t newest_ns) : newest_ns_(newest_ns) {}

  /// Returns the linker's name of the function at this offset from the load address; empty if the file is
  /// gone, changed, stripped, or not a 64-bit ELF file of this machine's byte order.
  std::string function(const std::string& file, std::uint64_t offset);

 private:
  struct Function {
    std::uint64_t bytes;
    std::string name;
  };
  using Table = std::map<std::uint64_t, Function>;  // by offset
  Table read(const std::string& file) const;

  std::int64_t newest_ns_;
  std::map<std::string, Table> tables_;
};

}  // namespace peakmark
