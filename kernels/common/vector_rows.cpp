#include "kernels/common/vector_rows.hpp"

#include <algorithm>
#include <numeric>

namespace peakmark {
namespace {

/// A GPU keeps about 2^18 items in flight. From twice that number on, an item processes several rows, up to
/// 8, and computes its columns only once.
constexpr Size kEnoughItems = Size{1} << 19;
constexpr Size kMaxRowsAnItem = 8;
constexpr Size kGroup = 256;
constexpr Size kGroupWidth = 16;  // a warp is then two rows of 256 bytes

}  // namespace

Range vector_rows(const RowsToWrite& rows) {
  const Size lanes = kVectorBytes / rows.element_bytes;
  // If rows are aligned differently, an extra vector covers the remainder.
  const Size misplaced = rows.pitch % lanes == 0 ? rows.first % lanes : lanes - 1;
  const Size vectors = divide_up(checked_add(rows.columns, misplaced), lanes);
  const Size alike = lanes / std::gcd(rows.pitch, lanes);
  const Size items = checked_multiply(checked_multiply(rows.images, rows.rows), vectors);
  const Size rows_an_item = std::clamp(items / kEnoughItems, Size{1}, kMaxRowsAnItem);
  Size width = 1;
  while (width < vectors && width < kGroupWidth) width *= 2;
  return {.x = vectors,
          .y = std::min(divide_up(divide_up(rows.rows, rows_an_item), alike), kMaxAlongYZ / alike) * alike,
          .z = std::min(rows.images, kMaxAlongYZ),
          .local_x = width,
          .local_y = kGroup / width,
          .local_z = 1};
}

}  // namespace peakmark
