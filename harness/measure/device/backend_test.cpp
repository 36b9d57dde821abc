#include "measure/device/backend.hpp"

#include <gmock/gmock.h>
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

using Three = std::array<Size, 3>;

DeviceInfo any_gpu() {
  DeviceInfo info;
  info.name = "a GPU";
  info.compute_units = 80;
  return info;
}

DeviceInfo cpu() {
  DeviceInfo info;
  info.name = "a CPU";
  info.is_cpu = true;
  info.compute_units = 2;
  return info;
}

TEST(LaunchGeometry, GlobalIsRoundedUpToTheLocalSizesGiven) {
  const LaunchGeometry geometry =
      launch_geometry({.x = 100, .y = 7, .z = 3, .local_x = 32, .local_y = 4, .local_z = 1}, any_gpu(), 1024);
  EXPECT_EQ(geometry.local, (Three{32, 4, 1}));
  EXPECT_EQ(geometry.global, (Three{128, 8, 3}));
}

TEST(LaunchGeometry, ALocalSizeLeftOutBesideOneGivenIsOne) {
  EXPECT_EQ(launch_geometry({.x = 100, .y = 7, .local_x = 64}, any_gpu(), 1024).local, (Three{64, 1, 1}));
}

TEST(LaunchGeometry, AGpuGetsGroupsOf256AlongXFirst) {
  EXPECT_EQ(launch_geometry({.x = 10000, .y = 500}, any_gpu(), 1024).local, (Three{256, 1, 1}));
  EXPECT_EQ(launch_geometry({.x = 17, .y = 500}, any_gpu(), 1024).local, (Three{32, 8, 1}));
  EXPECT_EQ(launch_geometry({.x = 1, .y = 3}, any_gpu(), 1024).local, (Three{1, 4, 1}));
  EXPECT_EQ(launch_geometry({.x = 10000}, any_gpu(), 100).local, (Three{64, 1, 1}));
}

TEST(LaunchGeometry, ACpuGetsEnoughGroupsForItsCores) {
  EXPECT_EQ(launch_geometry({.x = 1 << 20}, cpu(), 4096).local, (Three{64, 1, 1}));
  // With 20 rows on two cores, there is one group per row.
  EXPECT_EQ(launch_geometry({.x = 20}, cpu(), 4096).local, (Three{1, 1, 1}));
}

TEST(LaunchGeometry, HugeRangesKeep64Bits) {
  const LaunchGeometry geometry = launch_geometry({.x = (Size{1} << 40) + 1}, any_gpu(), 1024);
  EXPECT_EQ(geometry.global, (Three{(Size{1} << 40) + 256, 1, 1}));
  EXPECT_THROW(launch_geometry({.x = std::numeric_limits<Size>::max(), .local_x = 256}, any_gpu(), 1024),
               OverflowError);
}

TEST(LaunchGeometry, NothingToDoIsEmpty) {
  EXPECT_TRUE(launch_geometry({.x = 0}, any_gpu(), 1024).empty());
  EXPECT_TRUE(launch_geometry({.x = 5, .y = 0}, any_gpu(), 1024).empty());
}

TEST(LaunchGeometry, NegativeExtentsAndTooLargeGroupsAreRefused) {
  EXPECT_THROW(launch_geometry({.x = -1}, any_gpu(), 1024), UsageError);
  EXPECT_THROW(launch_geometry({.x = 1, .local_x = -1}, any_gpu(), 1024), UsageError);
  EXPECT_THROW(launch_geometry({.x = 64, .local_x = 64, .local_y = 32}, any_gpu(), 1024), UsageError);
}

}  // namespace
}  // namespace peakmark
