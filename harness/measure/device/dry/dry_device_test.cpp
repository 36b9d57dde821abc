#include "measure/device/dry/dry_device.hpp"

#include "measure/device/device_testing.hpp"

namespace peakmark {

using backend::Array;
using backend::Device;
using backend::Generator;
namespace {

std::unique_ptr<Device> open_plain_dry() {
  return open_dry();
}

INSTANTIATE_TEST_SUITE_P(Dry, DeviceSuite, ::testing::Values(&open_plain_dry));

struct Line {
  EventType type;
  std::uint64_t address;
  std::int64_t bytes;
  bool operator==(const Line&) const = default;
};

/// Allocations and releases only.
std::vector<Line> amounts(EventSource& allocation_log) {
  std::vector<Line> lines;
  for (const Event& event : allocation_log.events(0)) {
    if (event.type == EventType::allocation || event.type == EventType::failed_allocation) {
      lines.push_back({event.type, event.address, event.amounts.bytes});
    } else if (event.type == EventType::release) {
      lines.push_back({event.type, event.address, 0});
    }
  }
  return lines;
}

TEST(DryDevice, LogsWhatARecorderWouldRecord) {
  const auto device = open_dry();
  Array a = device->create("a", {10}, DType::f32);
  const std::uint64_t first = a.buffer().handle();
  {
    const Array b = device->create_uninitialised("b", {1000, 1000, 1000, 1000}, DType::f64);
    a.reset();
  }
  EXPECT_THAT(
      amounts(device->allocation_log()),
      ::testing::ElementsAre(Line{EventType::allocation, first, 40},
                             Line{EventType::allocation, first + 1, 8'000'000'000'000},
                             Line{EventType::release, first, 0}, Line{EventType::release, first + 1, 0}));
  EXPECT_EQ(device->memory().used_bytes, 0);
  EXPECT_EQ(device->memory().free_bytes, std::nullopt);
}

TEST(DryDevice, EventsAreNumberedAndTimed) {
  const auto device = open_dry();
  const Array a = device->create("a", {10}, DType::f32);
  const Array b = device->create("b", {10}, DType::f32);
  const std::vector<Event> events = device->allocation_log().events(0);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].commit, 1U);
  EXPECT_EQ(events[1].commit, 2U);
  EXPECT_GT(events[0].time_ns, 0);
  EXPECT_LE(events[0].time_ns, events[1].time_ns);
  EXPECT_EQ(events[0].kind, MemoryKind::buffer);
  EXPECT_EQ(device->allocation_log().count(), 2U);
  EXPECT_EQ(device->allocation_log().events(1).size(), 1U);
  EXPECT_TRUE(device->allocation_log().events(7).empty());
}

TEST(DryDevice, TheKindIsThatOfTheEmulatedBackend) {
  const auto device = open_dry({.kind = MemoryKind::device});
  const Array a = device->create("a", {1}, DType::f32);
  EXPECT_EQ(device->allocation_log().events(0).at(0).kind, MemoryKind::device);
}

TEST(DryDevice, NamesAndPhasesSpanSlots) {
  const auto device = open_dry();
  device->set_event_source(&device->allocation_log());
  const std::string name = "a name that is longer than the thirty-two bytes of one slot";
  device->allocation_log().phase("setup");
  const Array a = device->create(name, {1}, DType::f32);
  const std::vector<Event> events = device->allocation_log().events(0);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].type, EventType::phase);
  EXPECT_EQ(std::string(events[0].text, events[0].text_bytes), "setup");
  EXPECT_EQ(events[1].type, EventType::allocation);
  EXPECT_EQ(events[2].type, EventType::name);
  EXPECT_EQ(events[2].address, a.buffer().handle());
  EXPECT_EQ(events[2].text_bytes, name.size());
  EXPECT_EQ(events[3].type, EventType::text);
  EXPECT_EQ(std::string(events[2].text, 32) + std::string(events[3].text, name.size() - 32), name);
}

TEST(DryDevice, ABudgetLimitsAllocations) {
  const auto device = open_dry({.budget_bytes = 100});
  const Array a = device->create("a", {60}, DType::u8);
  EXPECT_EQ(device->memory().free_bytes, 40);
  EXPECT_THROW(device->create("b", {41}, DType::u8), OutOfMemoryError);
  const Array c = device->create("c", {40}, DType::u8);
  device->set_budget(std::nullopt);
  const Array d = device->create("d", {1000}, DType::u8);
  EXPECT_THAT(
      amounts(device->allocation_log()),
      ::testing::ElementsAre(Line{EventType::allocation, 1, 60}, Line{EventType::failed_allocation, 0, 41},
                             Line{EventType::allocation, 2, 40}, Line{EventType::allocation, 3, 1000}));
}

TEST(DryDevice, RefusesAnAllocationThatIsLargerThanOneMayBe) {
  const auto device = open_dry({.max_allocation = 100});
  const Array a = device->create("a", {100}, DType::u8);
  const Array b = device->create("b", {100}, DType::u8);
  EXPECT_THROW(device->create("c", {101}, DType::u8), OutOfMemoryError);
  EXPECT_EQ(device->allocation_log().events(0).back().type, EventType::failed_allocation);
}

TEST(DryDevice, LiveBytesBeyond64BitsAreAnOverflow) {
  const auto device = open_dry();
  const Array a = device->create("a", {Size{1} << 62}, DType::u8);
  EXPECT_THROW(device->create("b", {Size{1} << 62}, DType::u8), OverflowError);
}

TEST(DryDevice, GeneratorsAreNeverCalledAndKernelsNeverCompiled) {
  const auto device = open_dry();
  const Array a =
      device->push<float>("a", {Size{1} << 50}, Generator<float>([](std::span<float>, Size) { FAIL(); }));
  const KernelSource nonsense{"nonsense", "this is no code", {}};
  device->launch(device->kernel(nonsense, "k", DType::f32), {.x = Size{1} << 50}, {&a});
  device->finish();
}

TEST(DryDevice, HasNoDataAndNoTimes) {
  const auto device = open_dry();
  const Array a = device->create("a", {Size{1} << 50}, DType::f32);
  EXPECT_THROW(device->pull<float>(a), UnsupportedError);
  std::vector<float> part(2);
  EXPECT_THROW(device->pull_part<float>(a, 0, part), UnsupportedError);
  EXPECT_EQ(device->elapsed_ns(*device->time_point(), *device->time_point()), std::nullopt);
}

TEST(DryDevice, TheGrainIsThatOfTheEmulatedDevice) {
  EXPECT_TRUE(open_dry({.is_cpu = true})->info().is_cpu);
  EXPECT_FALSE(open_dry()->info().is_cpu);
  EXPECT_TRUE(open_device(dry_device_info(true))->info().is_cpu);
}

TEST(DryDevice, AnArrayMayOutliveItsDevice) {
  auto device = open_dry();
  const Array a = device->create("a", {4}, DType::f32);
  device.reset();
  EXPECT_EQ(a.buffer().bytes(), 16);
}

}  // namespace
}  // namespace peakmark
