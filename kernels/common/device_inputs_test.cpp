#include "kernels/common/device_inputs.hpp"

#include <array>

#include "kernels/common/seeded.hpp"
#include "kernels/common/variant_testing.hpp"

namespace peakmark {
namespace {

using testing_variants::Grain;
using testing_variants::open_tested;

/// More than one run of a CPU's work-item, with a remainder.
constexpr Size kOdd = 3 * 4096 + 1237;
/// Its upper half is not 0, and changes within the elements that are made.
constexpr Size kBeyond32Bits = (Size{7} << 32) - 5000;

template <typename T>
std::vector<T> on_host(std::uint32_t seed, Size first, Size count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  fill_seeded(std::span(values), seed, first);
  return values;
}

class DeviceInputs : public testing::TestWithParam<Grain> {
 protected:
  template <typename T>
  void expect_host_values() {
    for (const Size count : {Size{1}, Size{255}, Size{4096}, kOdd}) {
      DeviceArray array = create_seeded(*device_, "input", {count}, dtype_of<T>, 3);
      EXPECT_TRUE(array.read<T>() == on_host<T>(3, 0, count)) << to_string(dtype_of<T>) << " " << count;
      for (const Size first : {Size{1}, kBeyond32Bits}) {
        write_seeded(*device_, array, 40, first);
        EXPECT_TRUE(array.read<T>() == on_host<T>(40, first, count))
            << to_string(dtype_of<T>) << " " << count << " from " << first;
      }
    }
  }

  testing_variants::TestDevice device_ = open_tested(GetParam());
};

TEST_P(DeviceInputs, AreTheHostsValuesOfEveryType) {
  expect_host_values<std::uint8_t>();
  expect_host_values<std::int8_t>();
  expect_host_values<std::uint16_t>();
  expect_host_values<std::int16_t>();
  expect_host_values<std::uint32_t>();
  expect_host_values<std::int32_t>();
  expect_host_values<std::uint64_t>();
  expect_host_values<std::int64_t>();
  expect_host_values<float>();
  if (device_->has_f64()) expect_host_values<double>();
}

TEST_P(DeviceInputs, NoiseIsDrawnFromAFewLines) {
  constexpr NoisePattern kPattern{.different = 5, .order_seed = 50, .seed = 51};
  for (const Size w : {1, 3, 211, 5000}) {
    const Shape shape{3, 7, w};
    DeviceArray array = create_uninitialised(*device_, "lines", shape, DType::f32);
    write_noise(*device_, array, kPattern);
    const std::vector<float> values = array.read<float>();
    for (Size line = 0; line < 21; ++line) {
      const Size first = seeded_bits(50, line) % 5 * w;
      EXPECT_TRUE(std::ranges::equal(std::span(values).subspan(line * w, w), on_host<float>(51, first, w)))
          << "line " << line << " of " << w;
    }
  }
}

TEST_P(DeviceInputs, ArraysWithoutElementsAndComplexTypes) {
  DeviceArray empty = create_seeded(*device_, "input", {0, 3}, DType::f32, 1);
  EXPECT_EQ(empty.elements(), 0);
  EXPECT_EQ(empty.handle(), 0U);
  EXPECT_THROW(create_seeded(*device_, "input", {4}, DType::c64, 1), UsageError);
  DeviceArray integers = create_seeded(*device_, "input", {4}, DType::i32, 1);
  EXPECT_THROW(write_noise(*device_, integers, {}), UsageError);
}

TEST(DeviceInputsWithoutF64, DoublesComeFromTheHost) {
  const testing_variants::TestDevice device =
      testing_variants::open_host_memory();  // computes no doubles, and its kernels do nothing
  DeviceArray array = create_seeded(*device, "input", {kOdd}, DType::f64, 3);
  EXPECT_TRUE(array.read<double>() == on_host<double>(3, 0, kOdd));
}

TEST(SeededPattern, AnElementIsTheSameInEveryVersion) {
  // References, baselines and profiles depend on these values.
  EXPECT_EQ(seeded_bits(0, 0), 0u);
  EXPECT_EQ(seeded_bits(3, 1), 1587980121u);
  EXPECT_EQ(seeded_bits(3, kBeyond32Bits), 4166281002u);
}

INSTANTIATE_TEST_SUITE_P(Grains, DeviceInputs, testing::Values(Grain::cpu, Grain::gpu),
                         testing_variants::name_of_grain);

}  // namespace
}  // namespace peakmark
