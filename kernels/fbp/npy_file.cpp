#include "kernels/fbp/npy_file.hpp"

#include <fmt/format.h>

#include <bit>
#include <fstream>

#include "base/error.hpp"

namespace peakmark {

void write_npy(const std::filesystem::path& file, Size rows, Size columns, std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little);
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  // Magic, version and length are 10 bytes; with the header, which ends with a newline, a multiple of 64.
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  const char start[] = {'\x93',
                        'N',
                        'U',
                        'M',
                        'P',
                        'Y',
                        1,
                        0,
                        static_cast<char>(header.size() % 256),
                        static_cast<char>(header.size() / 256)};
  std::ofstream out(file, std::ios::binary);
  out.write(start, sizeof start);
  out << header;
  out.write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size_bytes()));
  out.close();
  if (!out)
    throw IoError(fmt::format("{}: cannot be written; check its folder and the free space", file.string()));
}

}  // namespace peakmark
