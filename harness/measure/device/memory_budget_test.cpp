#include "measure/device/memory_budget.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

DeviceInfo sample_device() {
  DeviceInfo device;
  device.name = "sample";
  device.memory_bytes = 1050;
  return device;
}

TEST(MemoryBudgets, AreBytesSharesOrWhatIsFree) {
  const DeviceMemory memory{.used_bytes = 50, .free_bytes = 1000};
  const auto bytes = [&](const char* text) {
    return resolve_budget(parse_budget(text), sample_device(), memory).bytes;
  };
  EXPECT_EQ(bytes("1 KiB"), 1024);
  EXPECT_EQ(bytes("16 KiB"), 1050) << "all that the device has";
  EXPECT_EQ(bytes("90%"), 945);
  EXPECT_EQ(bytes("1%"), 10);
  EXPECT_EQ(bytes("100%"), 1050);
  EXPECT_EQ(bytes("free-300"), 700);
  DeviceInfo large = sample_device();
  large.memory_bytes = Size{1} << 62;
  EXPECT_EQ(resolve_budget(parse_budget("50%"), large, {}).bytes, Size{1} << 61);
}

TEST(MemoryBudgets, SayHowTheyAreComputed) {
  const DeviceMemory memory{.used_bytes = 50, .free_bytes = 1000};
  const auto text = [&](const char* budget) {
    return resolve_budget(parse_budget(budget), sample_device(), memory).text;
  };
  EXPECT_EQ(text("1 KiB"), "");
  EXPECT_EQ(text("16 KiB"), "16 KiB is more than sample has");
  EXPECT_EQ(text("90%"), "90 % of the 1.025 KiB of sample");
  EXPECT_EQ(text("free-300"), "1000 B of sample are free, less 300 B");
}

TEST(MemoryBudgets, LeaveTheReserveThatWasMeasured) {
  const DeviceMemory memory{.used_bytes = 50, .free_bytes = 1000};
  MemoryReserve reserve{.free_bytes = 900,
                        .context_bytes = 100,
                        .library_bytes = std::nullopt,
                        .allocatable_bytes = 750,
                        .date = "2026-11-23"};
  const auto free = [&] { return resolve_budget(parse_budget("free"), sample_device(), memory, reserve); };
  EXPECT_EQ(free().bytes, 850);
  EXPECT_EQ(free().text,
            "1000 B of sample are free, less a reserve of 150 B, measured on 2026-11-23 "
            "(context 100 B, fragmentation 50 B)");
  reserve.library_bytes = 30;
  EXPECT_EQ(free().bytes, 850);
  EXPECT_THAT(free().text, HasSubstr("(context 100 B, cuBLAS 30 B, fragmentation 20 B)"));
  // Another process has released memory in the meantime.
  reserve.allocatable_bytes = 950;
  EXPECT_EQ(reserve.bytes(), 0);
  EXPECT_EQ(reserve.fragmentation_bytes(), 0);
  EXPECT_EQ(free().bytes, 1000);
  // A part that is unknown is not 0.
  reserve.context_bytes.reset();
  EXPECT_EQ(reserve.fragmentation_bytes(), std::nullopt);
  reserve.allocatable_bytes.reset();
  EXPECT_EQ(reserve.bytes(), std::nullopt);
}

TEST(MemoryBudgets, RejectWhatIsNoBudget) {
  const auto expect_usage = [](const auto& call, const std::string& text) {
    try {
      call();
      ADD_FAILURE() << "nothing thrown instead of: " << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  for (const char* const wrong : {"101%", "0%", "x%", "%", "1.5%"})
    expect_usage([&] { parse_budget(wrong); }, "is not a percentage from 1% to 100%");
  for (const char* const wrong : {"0", "300 TiB"})
    expect_usage([&] { parse_budget(wrong); }, "it must be from 1 byte to 256 TiB");
  for (const char* const wrong : {"freed", "free-", "free-x", "much", ""})
    expect_usage([&] { parse_budget(wrong); }, "is not a size");
  DeviceInfo unknown = sample_device();
  unknown.memory_bytes.reset();
  expect_usage([&] { resolve_budget(parse_budget("90%"), unknown, {}); }, "the memory of sample is unknown");
  expect_usage([&] { resolve_budget(parse_budget("free"), unknown, {}); },
               "the free memory of sample is unknown");
  expect_usage([&] { resolve_budget(parse_budget("free"), unknown, {.used_bytes = 0, .free_bytes = 9}); },
               "the reserve of sample could not be measured");
  unknown.backend = Backend::dry;
  expect_usage([&] { resolve_budget(parse_budget("free"), unknown, {}); },
               "dry allocates nothing on a device, so it has no memory to take a part of");
  expect_usage([&] { resolve_budget(parse_budget("free-1GB"), unknown, {.used_bytes = 0, .free_bytes = 9}); },
               "nothing is left: 9 B of sample are free, less 953.7 MiB");
}

}  // namespace
}  // namespace peakmark
