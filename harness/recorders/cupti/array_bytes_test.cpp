#include "recorders/cupti/array_bytes.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace peakmark {
namespace {

CUDA_ARRAY3D_DESCRIPTOR descriptor(std::size_t width, std::size_t height, std::size_t depth,
                                   CUarray_format format, unsigned channels, unsigned flags = 0) {
  CUDA_ARRAY3D_DESCRIPTOR result{};
  result.Width = width;
  result.Height = height;
  result.Depth = depth;
  result.Format = format;
  result.NumChannels = channels;
  result.Flags = flags;
  return result;
}

// cuArrayCreate: a height of 0 makes a 1D array; cuArray3DCreate: a depth of 0 a 2D one.
TEST(ArrayBytes, AnExtentOfZeroIsADimensionThatIsNotThere) {
  EXPECT_EQ(array_bytes(CUDA_ARRAY_DESCRIPTOR{100, 0, CU_AD_FORMAT_HALF, 4}), 100 * 8);
  EXPECT_EQ(array_bytes(descriptor(100, 20, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1)), 2000);
}

TEST(ArrayBytes, BlocksOf4x4AreRoundedUp) {
  EXPECT_EQ(array_bytes(descriptor(5, 9, 0, CU_AD_FORMAT_BC1_UNORM, 4)), 2 * 3 * 8);
  EXPECT_EQ(array_bytes(descriptor(4, 4, 2, CU_AD_FORMAT_BC7_UNORM, 4)), 2 * 16);
}

TEST(ArrayBytes, PackedPlanesAreUnknown) {
  EXPECT_FALSE(array_bytes(descriptor(64, 64, 0, CU_AD_FORMAT_NV12, 3)));
}

TEST(ArrayBytes, LevelsHalveButLayersStay) {
  EXPECT_EQ(mipmapped_array_bytes(descriptor(5, 3, 2, CU_AD_FORMAT_FLOAT, 1), 3),
            (5 * 3 * 2 + 2 * 1 * 1 + 1) * 4);
  EXPECT_EQ(
      mipmapped_array_bytes(descriptor(4, 4, 6, CU_AD_FORMAT_UNSIGNED_INT8, 1, CUDA_ARRAY3D_LAYERED), 3),
      (16 + 4 + 1) * 6);
}

TEST(ArrayBytes, LevelsAreClampedAsTheDriverDoes) {
  const auto square = descriptor(8, 8, 0, CU_AD_FORMAT_FLOAT, 4);
  EXPECT_EQ(mipmapped_array_bytes(square, 20), 1360);
  EXPECT_EQ(mipmapped_array_bytes(square, 4), 1360);
  EXPECT_EQ(mipmapped_array_bytes(square, 3), 1344);
  EXPECT_EQ(mipmapped_array_bytes(square, 0), 1024);
}

TEST(ArrayBytes, WhatIsMappedLaterHoldsNothing) {
  for (const unsigned flag : {CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING}) {
    EXPECT_EQ(array_bytes(descriptor(4096, 4096, 0, CU_AD_FORMAT_FLOAT, 4, flag)), 0);
  }
}

TEST(ArrayBytes, WhatDoesNotFitIsTheLargestNumber) {
  const auto largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(saturating_multiply(SIZE_MAX, 1), largest);
  EXPECT_EQ(saturating_multiply(3, 7), 21);
  EXPECT_EQ(array_bytes(descriptor(SIZE_MAX, 2, 0, CU_AD_FORMAT_FLOAT, 4)), largest);
}

}  // namespace
}  // namespace peakmark
