#include "measure/device/device_testing.hpp"

namespace peakmark {

using backend::Array;
using backend::Device;
using backend::Generator;
using backend::Kernel;

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DeviceDataSuite);

// Tests without data.

TEST_P(DeviceSuite, HasNameAndPlatform) {
  EXPECT_FALSE(device().info().name.empty());
  EXPECT_FALSE(device().info().platform.empty());
  EXPECT_GE(device().info().index, 0);
}

TEST_P(DeviceSuite, AnArrayKnowsItsShapeAndBytes) {
  const Array array = device().create("a", {3, 5, 7}, DType::u16);
  EXPECT_EQ(array.shape(), (Shape{3, 5, 7}));
  EXPECT_EQ(array.dtype(), DType::u16);
  EXPECT_EQ(array.bytes(), 210);
  EXPECT_EQ(array.buffer().bytes(), 210);
  EXPECT_NE(array.buffer().handle(), 0U);
}

TEST_P(DeviceSuite, NamesAreRecorded) {
  NameCollector collector;
  device().set_event_source(&collector);
  const Array a = device().create("first", {4}, DType::f32);
  const Array b = device().create_uninitialised("second", {4}, DType::f32);
  const std::vector<float> data(4);
  const Array c = device().push<float>("third", {4}, data);
  device().set_event_source(nullptr);
  const Array d = device().create("not recorded", {4}, DType::f32);
  EXPECT_THAT(collector.names,
              ::testing::UnorderedElementsAre(::testing::Pair(a.buffer().handle(), "first"),
                                              ::testing::Pair(b.buffer().handle(), "second"),
                                              ::testing::Pair(c.buffer().handle(), "third")));
}

TEST_P(DeviceSuite, AnEmptyArrayHoldsNoMemoryAndIsAccepted) {
  NameCollector collector;
  device().set_event_source(&collector);
  Array empty = device().create("empty", {3, 0, 7}, DType::f64);
  EXPECT_FALSE(empty);
  EXPECT_EQ(empty.bytes(), 0);
  EXPECT_TRUE(collector.names.empty());
  device().fill(empty, 1);
  device().write<double>(empty, std::span<const double>{});
  Array other = device().create("other", {4}, DType::f64);
  device().copy(empty, 0, other, 0, 0);
  device().finish();
}

TEST_P(DeviceSuite, AShapeBeyond64BitsIsAnOverflow) {
  const Size half = Size{1} << 32;
  EXPECT_THROW(device().create("a", {half, half, 2}, DType::u8), OverflowError);
  EXPECT_THROW(device().create_uninitialised("a", {half, half / 4}, DType::f64), OverflowError);
}

TEST_P(DeviceSuite, DtypesAreNeverConverted) {
  Array array = device().create("a", {4}, DType::f32);
  const std::vector<double> doubles(4);
  EXPECT_THROW(device().write<double>(array, doubles), UsageError);
  EXPECT_THROW(device().write<double>(array, [](std::span<double>, Size) {}), UsageError);
  EXPECT_THROW(device().pull<double>(array), UsageError);
  EXPECT_THROW(device().pull<std::int32_t>(array), UsageError);
}

TEST_P(DeviceSuite, TheNumberOfElementsMustAgree) {
  Array array = device().create("a", {2, 2}, DType::f32);
  const std::vector<float> five(5);
  EXPECT_THROW(device().write<float>(array, five), UsageError);
  EXPECT_THROW(device().push<float>("b", {2, 2}, five), UsageError);
}

TEST_P(DeviceSuite, FillRejectsWhatTheDtypeCannotHold) {
  Array bytes = device().create("u8", {4}, DType::u8);
  EXPECT_THROW(device().fill(bytes, 256), UsageError);
  EXPECT_THROW(device().fill(bytes, -1), UsageError);
  EXPECT_THROW(device().fill(bytes, 0.5), UsageError);
  Array floats = device().create("f32", {4}, DType::f32);
  EXPECT_THROW(device().fill(floats, 0.1), UsageError);
  EXPECT_NO_THROW(device().fill(floats, static_cast<double>(0.1F)));
}

TEST_P(DeviceSuite, RangesMustLieInside) {
  Array a = device().create("a", {8}, DType::f32);
  Array b = device().create("b", {8}, DType::f32);
  EXPECT_THROW(device().fill_part(a, 5, 4, 0), UsageError);
  EXPECT_THROW(device().fill_part(a, -1, 2, 0), UsageError);
  EXPECT_THROW(device().fill_part(a, 0, -1, 0), UsageError);
  EXPECT_THROW(device().fill_part(a, std::numeric_limits<Size>::max() / 2, 1, 0), OverflowError);
  EXPECT_THROW(device().copy(a, 4, b, 0, 32), UsageError);
  EXPECT_THROW(device().copy(a, 0, b, 4, 32), UsageError);
  EXPECT_THROW(device().copy(a, 0, b, 0, -4), UsageError);
  EXPECT_THROW(device().copy(a, 0, a, 16, 16), UsageError);
}

TEST_P(DeviceSuite, AReleasedArrayIsEmpty) {
  Array array = device().create("a", {1000}, DType::f32);
  device().fill(array, 1);
  device().release(array);
  EXPECT_FALSE(array);
  device().release(array);
  EXPECT_THROW(device().fill(array, 1), UsageError);
}

TEST_P(DeviceSuite, AnArrayWithGuardsIsAnArray) {
  NameCollector collector;
  device().set_event_source(&collector);
  device().begin_guards(GuardFill::plain);
  Array array = device().create("a", {1001}, DType::u8);
  const Array empty = device().create("empty", {0}, DType::u8);
  EXPECT_EQ(array.bytes(), 1001);
  EXPECT_EQ(array.buffer().bytes(), 1001);
  EXPECT_FALSE(empty);
  device().fill(array, 7);
  device().finish();
  EXPECT_THAT(device().overwritten_guards(), ::testing::IsEmpty());
  EXPECT_EQ(device().guarded_allocations().size(), device().is_dry() ? 0U : 1U);
  EXPECT_THAT(collector.names, ::testing::ElementsAre(::testing::Pair(::testing::_, "a")));
  EXPECT_EQ(collector.guard_bytes, device().is_dry() ? std::vector<Size>{} : (std::vector<Size>{8192, 0}));
  device().release(array);
  EXPECT_FALSE(array);
  device().set_event_source(nullptr);
}

TEST_P(DeviceSuite, AnArrayThatWasResetIsRejected) {
  Array a = device().create("a", {8}, DType::f32);
  a.reset();
  EXPECT_FALSE(a);
  EXPECT_THROW(device().fill(a, 0), UsageError);
}

// Tests with data.

TEST_P(DeviceDataSuite, TooLargeAnArrayIsOutOfMemory) {
  EXPECT_THROW(device().create("a", {Size{1} << 59}, DType::f64), OutOfMemoryError);
}

TEST_P(DeviceDataSuite, CreateGivesZeros) {
  EXPECT_EQ(device().pull<float>(device().create("a", {3, 4}, DType::f32)), std::vector<float>(12));
  EXPECT_EQ(device().pull<std::uint8_t>(device().create("a", {5}, DType::u8)), std::vector<std::uint8_t>(5));
}

template <typename T>
void expect_round_trip(Device& device) {
  SCOPED_TRACE(to_string(dtype_of<T>));
  const std::vector<T> data{std::numeric_limits<T>::lowest(), T{0}, T{1}, std::numeric_limits<T>::max(),
                            T{42}};
  const Array array = device.push<T>("a", {5}, std::span<const T>(data));
  EXPECT_EQ(device.pull<T>(array), data);
  std::vector<T> part(2);
  device.pull_part<T>(array, 3, part);
  EXPECT_EQ(part, (std::vector<T>{data[3], data[4]}));
}

TEST_P(DeviceDataSuite, EveryDtypeRoundTrips) {
  expect_round_trip<std::uint8_t>(device());
  expect_round_trip<std::int8_t>(device());
  expect_round_trip<std::uint16_t>(device());
  expect_round_trip<std::int16_t>(device());
  expect_round_trip<std::uint32_t>(device());
  expect_round_trip<std::int32_t>(device());
  expect_round_trip<std::uint64_t>(device());
  expect_round_trip<std::int64_t>(device());
  expect_round_trip<float>(device());
  expect_round_trip<double>(device());
}

TEST_P(DeviceDataSuite, PullingAPartBeyondTheEndIsRefused) {
  const Array array = device().create("a", {4}, DType::f32);
  std::vector<float> part(2);
  EXPECT_THROW(device().pull_part<float>(array, 3, part), UsageError);
}

TEST_P(DeviceDataSuite, WriteReplaces) {
  const std::vector<std::int32_t> first{1, 2, 3};
  const std::vector<std::int32_t> second{-4, 5, 6};
  Array array = device().push<std::int32_t>("a", {3}, first);
  device().write<std::int32_t>(array, second);
  EXPECT_EQ(device().pull<std::int32_t>(array), second);
}

TEST_P(DeviceDataSuite, FillsEveryWidth) {
  Array u8 = device().create("u8", {7}, DType::u8);
  Array i16 = device().create("i16", {7}, DType::i16);
  Array f32 = device().create("f32", {7}, DType::f32);
  Array f64 = device().create("f64", {7}, DType::f64);
  device().fill(u8, 255);
  device().fill(i16, -32768);
  device().fill(f32, -0.5);
  device().fill(f64, 0.1);
  EXPECT_THAT(device().pull<std::uint8_t>(u8), ::testing::Each(255));
  EXPECT_THAT(device().pull<std::int16_t>(i16), ::testing::Each(-32768));
  EXPECT_THAT(device().pull<float>(f32), ::testing::Each(-0.5F));
  EXPECT_THAT(device().pull<double>(f64), ::testing::Each(0.1));
}

TEST_P(DeviceDataSuite, FillsAPart) {
  Array array = device().create("a", {6}, DType::u16);
  device().fill_part(array, 2, 3, 9);
  EXPECT_EQ(device().pull<std::uint16_t>(array), (std::vector<std::uint16_t>{0, 0, 9, 9, 9, 0}));
}

TEST_P(DeviceDataSuite, CopiesWithOffsets) {
  const std::vector<std::int32_t> data{0, 1, 2, 3, 4, 5};
  const Array from = device().push<std::int32_t>("from", {6}, data);
  Array to = device().create("to", {6}, DType::i32);
  device().copy(from, 4, to, 12, 8);
  EXPECT_EQ(device().pull<std::int32_t>(to), (std::vector<std::int32_t>{0, 0, 0, 1, 2, 0}));
}

TEST_P(DeviceDataSuite, AGeneratorFillsPieceByPiece) {
  // A little more than one piece of 64 MiB.
  const Size count = ((Size{64} << 20) / 8) + 3;
  std::vector<Size> firsts;
  const Array array = device().push<std::int64_t>(
      "a", {count}, Generator<std::int64_t>([&](std::span<std::int64_t> piece, Size first) {
        firsts.push_back(first);
        std::iota(piece.begin(), piece.end(), first);
      }));
  EXPECT_THAT(firsts, ::testing::ElementsAre(0, count - 3));
  std::vector<std::int64_t> end(6);
  device().pull_part<std::int64_t>(array, count - 6, end);
  EXPECT_THAT(end, ::testing::ElementsAre(count - 6, count - 5, count - 4, count - 3, count - 2, count - 1));
}

TEST_P(DeviceDataSuite, AWriteOutsideOfAnArrayIsFoundOnce) {
  device().begin_guards(GuardFill::plain);
  const Kernel set_at = device().kernel(test_kernels_source(), "set_at", DType::f32);
  const auto set = [&](const Array& array, Size index) {
    device().launch(set_at, {}, {&array, index, 3.0F});
    device().finish();
  };
  const Array right = device().create("right", {5}, DType::f32);
  const Array before = device().create("before", {16}, DType::f32);
  Array released = device().create("released", {3}, DType::f32);
  set(right, 0);
  set(right, 4);
  EXPECT_THAT(device().overwritten_guards(), ::testing::IsEmpty());
  set(before, -1);
  set(released, 4);
  device().release(released);
  EXPECT_THAT(device().overwritten_guards(),
              ::testing::UnorderedElementsAre(
                  "array 'before' (number 2, 64 B): bytes 1 to 4 before its start were overwritten",
                  "array 'released' (number 3, 12 B): bytes 4 to 7 after its end were overwritten"));
  EXPECT_THAT(device().overwritten_guards(), ::testing::IsEmpty());
  EXPECT_EQ(device().pull<float>(right), (std::vector<float>{3, 0, 0, 0, 3}));
}

TEST_P(DeviceDataSuite, ArraysWithGuardsAreCopiedAndFilledAsOthers) {
  device().begin_guards(GuardFill::inverted);
  Array from = device().create("from", {1003}, DType::u16);
  Array to = device().create("to", {1003}, DType::u16);
  device().fill(from, 7);
  device().copy(from, 0, to, 0, from.bytes());
  EXPECT_EQ(device().pull<std::uint16_t>(to), std::vector<std::uint16_t>(1003, 7));
  EXPECT_THROW(device().copy(from, 0, from, 1000, 1000), UsageError);
  EXPECT_THAT(device().overwritten_guards(), ::testing::IsEmpty());
}

template <typename T>
void expect_kernel(Device& device) {
  SCOPED_TRACE(to_string(dtype_of<T>));
  // 1003 is a prime: the global size is rounded up, and the kernel must not write beyond its bounds.
  constexpr Size kCount = 1003;
  std::vector<T> data(kCount + 1, T{2});
  const Array array = device.push<T>("a", {kCount + 1}, std::span<const T>(data));
  const Kernel kernel = device.kernel(test_kernels_source(), "add_index", dtype_of<T>);
  device.launch(kernel, {.x = kCount}, {&array, std::int64_t{kCount}, T{3}});
  for (Size i = 0; i < kCount; ++i) data[static_cast<std::size_t>(i)] = static_cast<T>(6 + i);
  EXPECT_EQ(device.pull<T>(array), data);
}

TEST_P(DeviceDataSuite, KernelsRunForEveryWidthOfArgument) {
  expect_kernel<std::int32_t>(device());
  expect_kernel<std::uint32_t>(device());
  expect_kernel<std::int64_t>(device());
  expect_kernel<std::uint64_t>(device());
  expect_kernel<float>(device());
  expect_kernel<double>(device());
}

TEST_P(DeviceDataSuite, ArgumentsArriveWithTheirWidths) {
  const Array array = device().create("a", {5}, DType::f64);
  device().launch(device().kernel(test_kernels_source(), "arguments", DType::f64), {},
                  {&array, std::int32_t{-7}, std::uint32_t{4'000'000'000}, Size{-5'000'000'000},
                   std::uint64_t{1} << 50, 0.5F});
  EXPECT_EQ(device().pull<double>(array), (std::vector<double>{-7, 4e9, -5e9, 1125899906842624.0, 0.5}));
}

TEST_P(DeviceDataSuite, LaunchesInThreeDimensions) {
  const Array array = device().create("a", {3, 5, 7}, DType::i32);
  device().launch(device().kernel(test_kernels_source(), "coordinates", DType::i32), {.x = 7, .y = 5, .z = 3},
                  {&array, Size{3}, Size{5}, Size{7}});
  std::vector<std::int32_t> expected;
  for (int z = 0; z < 3; ++z) {
    for (int y = 0; y < 5; ++y) {
      for (int x = 0; x < 7; ++x) expected.push_back(100 * z + 10 * y + x);
    }
  }
  EXPECT_EQ(device().pull<std::int32_t>(array), expected);
}

TEST_P(DeviceDataSuite, AGroupSharesMemory) {
  const std::vector<std::int32_t> data{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  const Array array = device().push<std::int32_t>("a", {16}, data);
  device().launch(device().kernel(test_kernels_source(), "reverse_groups", DType::i32),
                  {.x = 16, .local_x = 8}, {&array, Size{16}});
  EXPECT_EQ(device().pull<std::int32_t>(array),
            (std::vector<std::int32_t>{7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8}));
}

TEST_P(DeviceDataSuite, AnEmptyArrayIsANullPointerToAKernel) {
  const Array array = device().create("a", {1}, DType::i32);
  const Array empty = device().create("empty", {0}, DType::i32);
  device().launch(device().kernel(test_kernels_source(), "is_null", DType::i32), {}, {&array, &empty});
  EXPECT_EQ(device().pull<std::int32_t>(array), std::vector<std::int32_t>{1});
}

TEST_P(DeviceDataSuite, ALaunchOverNothingDoesNothing) {
  const Array array = device().create("a", {1}, DType::i32);
  device().launch(device().kernel(test_kernels_source(), "add_index", DType::i32), {.x = 0},
                  {&array, Size{1}, std::int32_t{1}});
  EXPECT_EQ(device().pull<std::int32_t>(array), std::vector<std::int32_t>{0});
}

TEST_P(DeviceDataSuite, AKernelThatIsNotThereIsAnError) {
  EXPECT_THROW(device().kernel(test_kernels_source(), "no_such_kernel", DType::f32), Error);
}

TEST_P(DeviceDataSuite, TimePointsFollowTheQueue) {
  const Array array = device().create("a", {1 << 16}, DType::f32);
  const Kernel kernel = device().kernel(test_kernels_source(), "add_index", DType::f32);
  const auto start = device().time_point();
  for (int i = 0; i < 3; ++i) device().launch(kernel, {.x = 1 << 16}, {&array, Size{1 << 16}, 1.0F});
  const auto middle = device().time_point();
  device().launch(kernel, {.x = 1 << 16}, {&array, Size{1 << 16}, 1.0F});
  const auto end = device().time_point();
  const auto first = device().elapsed_ns(*start, *middle);
  const auto second = device().elapsed_ns(*middle, *end);
  const auto whole = device().elapsed_ns(*start, *end);
  ASSERT_TRUE(first && second && whole);
  EXPECT_GT(*first, 0);
  EXPECT_GT(*second, 0);
  EXPECT_GE(*whole, *first);
}

TEST_P(DeviceDataSuite, MemoryOfTheDeviceIsKnownOrNull) {
  const DeviceMemory memory = device().memory();
  EXPECT_GT(memory.free_bytes.value_or(1), 0);
  EXPECT_GE(memory.used_bytes.value_or(0), 0);
}

}  // namespace peakmark
