#include "measure/worker/reference_case.hpp"

#include <gmock/gmock.h>

#include "measure/device/dry/dry_device.hpp"

namespace peakmark {
namespace {

TEST(ReferenceSchedule, CostsAFiftiethAtMost) {
  ReferenceSchedule schedule(0);
  double now_ns = 0;
  double spent_ns = 0;
  int times = 0;
  while (now_ns < 600e9) {  // cases of 0.7 s, references of 0.4 s
    now_ns += 0.7e9;
    if (!schedule.due(now_ns)) continue;
    schedule.timed(now_ns, now_ns + 0.4e9);
    now_ns += 0.4e9;
    spent_ns += 0.4e9;
    ++times;
  }
  EXPECT_LE(spent_ns, 0.02 * now_ns);
  EXPECT_GE(times, 25);
}

TEST(ReferenceCase, HasNoTimeOnDry) {
  const auto device = open_dry();
  EXPECT_EQ(time_reference_case(*device, brief_stopping()), ReferenceTime{});
}

// The largest last-level cache of any GPU so far has 256 MiB.
TEST(ReferenceCase, TheCopyOfAGpuIsLargerThanItsCache) {
  DeviceInfo device;
  EXPECT_EQ(reference_copy_bytes(device), Size{512} << 20);
  device.is_cpu = true;
  EXPECT_EQ(reference_copy_bytes(device), Size{64} << 20);
}

TEST(ReferenceTimes, AreSummedUpByTheirMedians) {
  ReferenceTimes times;
  EXPECT_EQ(times.median(), ReferenceTime{});
  times.add({10, std::nullopt});
  times.add({30, 5});
  times.add({20, std::nullopt});
  EXPECT_EQ(times.median(), (ReferenceTime{20, 5}));
}

}  // namespace
}  // namespace peakmark
