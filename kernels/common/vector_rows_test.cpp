#include "kernels/common/vector_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace peakmark {
namespace {

TEST(VectorRows, CoverEveryColumnOfEveryRow) {
  for (const Size element_bytes : {1, 2, 4, 8})
    for (const Size pitch : {1, 2, 3, 8, 15, 16, 17, 48, 640})
      for (const Size first : {0, 1, 7, 16, 33})
        for (const Size columns : {Size{1}, divide_up(pitch, Size{2}), pitch}) {
          const Size lanes = kVectorBytes / element_bytes;
          const RowsToWrite rows{.images = 3,
                                 .rows = 40,
                                 .columns = columns,
                                 .first = first,
                                 .pitch = pitch,
                                 .element_bytes = element_bytes};
          const Range range = vector_rows(rows);
          EXPECT_EQ(range.y * pitch % lanes, 0) << "rows of an item are not aligned alike";
          for (Size row = 0; row < rows.rows; ++row)
            EXPECT_GE(range.x * lanes - (first + row * pitch) % lanes, columns)
                << element_bytes << " " << pitch;
        }
}

TEST(VectorRows, AlignedRowsNeedNoVectorMore) {
  EXPECT_EQ(vector_rows({.rows = 9, .columns = 640, .pitch = 640, .element_bytes = 1}).x, 40);
  EXPECT_EQ(vector_rows({.rows = 9, .columns = 640, .first = 64, .pitch = 768, .element_bytes = 1}).x, 40);
}

TEST(VectorRows, StayBelowCudasLimitAlongYAndZ) {
  const Range range =
      vector_rows({.images = 70'000, .rows = 70'000, .columns = 3, .pitch = 3, .element_bytes = 1});
  EXPECT_LE(range.y, kMaxAlongYZ);
  EXPECT_EQ(range.y % 16, 0);
  EXPECT_EQ(range.z, kMaxAlongYZ);
  EXPECT_EQ(range.local_x * range.local_y, 256);
}

TEST(VectorRows, ALargeStackGivesAnItemSeveralRows) {
  EXPECT_EQ(vector_rows({.rows = 32'768, .columns = 32'768, .pitch = 32'768, .element_bytes = 1}).y, 4096);
  EXPECT_EQ(vector_rows({.rows = 512, .columns = 512, .pitch = 512, .element_bytes = 1}).y, 512);
}

}  // namespace
}  // namespace peakmark
