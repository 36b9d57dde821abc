#include "base/shape.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

TEST(Shape, CountsIn64Bits) {
  EXPECT_EQ(Shape({43200, 16384}).bytes(DType::f32), 2'831'155'200);
  EXPECT_EQ(Shape({3, 0, 5}).elements(), 0);
  EXPECT_EQ(Shape().elements(), 1);
  EXPECT_EQ(Shape({20, 512, 256}).text(), "(20, 512, 256)");
}

TEST(Shape, RefusesNegativeExtentsAndOverflow) {
  EXPECT_THROW(Shape({3, -1}), UsageError);
  const Shape huge{Size{1} << 31, Size{1} << 31};
  EXPECT_THROW(static_cast<void>(huge.bytes(DType::f32)), OverflowError);
}

TEST(DType, NamesGoBothWays) {
  for (const char* name :
       {"u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64", "c64", "c128"}) {
    EXPECT_EQ(to_string(parse_dtype(name)), name);
  }
  EXPECT_EQ(parse_dtype("float32"), DType::f32);
  EXPECT_EQ(size_of(DType::c128), 16);
  EXPECT_THROW(parse_dtype("f16"), UsageError);
}

TEST(DType, OtherNamesStayAsTheyAre) {
  for (const char* name : {"f32", "float32"}) {
    EXPECT_EQ(our_dtype_name(name), "f32");
    EXPECT_EQ(numpy_dtype_name(name), "float32");
  }
  EXPECT_EQ(our_dtype_name("float16"), "float16");
  EXPECT_EQ(numpy_dtype_name("float16"), "float16");
}

}  // namespace
}  // namespace peakmark
