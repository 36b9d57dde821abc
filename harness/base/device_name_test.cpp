#include "base/device_name.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

TEST(DeviceKey, IsTheSameUnderEachVersionOfPocl) {
  // The names are from PoCL 3.1 in Debian 12 and PoCL 6.0 in Debian 13.
  EXPECT_EQ(device_key("pthread-skylake-avx512-Intel(R) Xeon(R) Processor"),
            device_key("cpu-skylake-avx512-Intel(R) Xeon(R) Processor"));
  EXPECT_EQ(device_key("pthread-znver3-AMD EPYC 9R14"), device_key("cpu-znver4-AMD EPYC 9R14"));
  EXPECT_EQ(device_key("pthread-x86-64-v3-AMD EPYC 9R14"), device_key("cpu-znver4-AMD EPYC 9R14"));
  EXPECT_EQ(device_key("pthread-goldmont-12th Gen Intel(R) Core(TM) i7-1260P"),
            device_key("cpu-alderlake-12th Gen Intel(R) Core(TM) i7-1260P"));
  EXPECT_EQ(device_key("pthread-generic"), device_key("cpu-generic"));
}

TEST(DeviceKey, DiffersBetweenDevices) {
  EXPECT_NE(device_key("cpu-znver4-AMD EPYC 9R14"), device_key("cpu-znver4-AMD EPYC 9R04"));
  EXPECT_NE(device_key("cpu-skylake-Intel(R) Xeon(R) Processor"), device_key("Intel(R) Xeon(R) Processor"));
  EXPECT_NE(device_key("cpu-cortex-a72-0xd08"), device_key("cpu-cortex-a53-0xd03"));
  for (const char* const name : {"", "dry", "NVIDIA H100 80GB HBM3", "cpu", "cpu-", "pthread", "CPU"}) {
    EXPECT_EQ(device_key(name), name);
  }
}

}  // namespace
}  // namespace peakmark
