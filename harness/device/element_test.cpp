#include "device/element.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

template <typename T>
T as(const Element& element) {
  EXPECT_EQ(element.size, static_cast<Size>(sizeof(T)));
  T value;
  std::memcpy(&value, element.bytes.data(), sizeof(T));
  return value;
}

TEST(Element, HoldsTheEndsOfEveryInteger) {
  EXPECT_EQ(as<std::uint8_t>(element_of(255, DType::u8)), 255);
  EXPECT_EQ(as<std::int8_t>(element_of(-128, DType::i8)), -128);
  EXPECT_EQ(as<std::uint16_t>(element_of(65535, DType::u16)), 65535);
  EXPECT_EQ(as<std::int16_t>(element_of(-32768, DType::i16)), -32768);
  EXPECT_EQ(as<std::uint32_t>(element_of(4294967295.0, DType::u32)), 4294967295U);
  EXPECT_EQ(as<std::int32_t>(element_of(-2147483648.0, DType::i32)),
            std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(as<std::uint64_t>(element_of(std::ldexp(1.0, 63), DType::u64)), std::uint64_t{1} << 63);
  EXPECT_EQ(as<std::int64_t>(element_of(-std::ldexp(1.0, 63), DType::i64)),
            std::numeric_limits<std::int64_t>::min());
}

TEST(Element, RefusesOneBeyond) {
  EXPECT_THROW(element_of(256, DType::u8), UsageError);
  EXPECT_THROW(element_of(-1, DType::u8), UsageError);
  EXPECT_THROW(element_of(128, DType::i8), UsageError);
  EXPECT_THROW(element_of(-129, DType::i8), UsageError);
  EXPECT_THROW(element_of(65536, DType::u16), UsageError);
  EXPECT_THROW(element_of(2147483648.0, DType::i32), UsageError);
  EXPECT_THROW(element_of(std::ldexp(1.0, 64), DType::u64), UsageError);
  EXPECT_THROW(element_of(std::ldexp(1.0, 63), DType::i64), UsageError);
}

TEST(Element, IntegersTakeNoFractionInfinityOrNan) {
  EXPECT_THROW(element_of(0.5, DType::i32), UsageError);
  EXPECT_THROW(element_of(INFINITY, DType::u64), UsageError);
  EXPECT_THROW(element_of(NAN, DType::i64), UsageError);
}

TEST(Element, FloatTakesOnlyWhatItHoldsExactly) {
  EXPECT_EQ(as<float>(element_of(0.5, DType::f32)), 0.5F);
  EXPECT_EQ(as<float>(element_of(static_cast<double>(0.1F), DType::f32)), 0.1F);
  EXPECT_THROW(element_of(0.1, DType::f32), UsageError);
  EXPECT_THROW(element_of(16777217, DType::f32), UsageError);
  EXPECT_THROW(element_of(1e39, DType::f32), UsageError);
  EXPECT_TRUE(std::isnan(as<float>(element_of(NAN, DType::f32))));
  EXPECT_EQ(as<float>(element_of(-INFINITY, DType::f32)), -INFINITY);
  EXPECT_TRUE(std::signbit(as<float>(element_of(-0.0, DType::f32))));
}

TEST(Element, DoubleTakesEveryDouble) {
  EXPECT_EQ(as<double>(element_of(0.1, DType::f64)), 0.1);
}

TEST(Element, ComplexTakesItAsRealPart) {
  const Element c64 = element_of(2, DType::c64);
  EXPECT_EQ(c64.size, 8);
  float parts[2];
  std::memcpy(parts, c64.bytes.data(), sizeof(parts));
  EXPECT_EQ(parts[0], 2.0F);
  EXPECT_EQ(parts[1], 0.0F);
  const Element c128 = element_of(0.1, DType::c128);
  EXPECT_EQ(c128.size, 16);
  double wide[2];
  std::memcpy(wide, c128.bytes.data(), sizeof(wide));
  EXPECT_EQ(wide[0], 0.1);
  EXPECT_EQ(wide[1], 0.0);
}

}  // namespace
}  // namespace peakmark
