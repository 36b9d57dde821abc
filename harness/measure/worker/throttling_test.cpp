#include "measure/worker/throttling.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

ClockSample at(unsigned mhz) {
  return {.sm_mhz = mhz, .max_sm_mhz = 1980};
}

/// Returns the time in ms until the clocks are steady, with one sample per ms.
template <typename Clocks>
int steady_after_ms(Clocks clocks) {
  SteadyClocks steady;
  int ms = 0;
  while (!steady.done() && ms < 10'000) {
    ++ms;
    steady.add(clocks(ms), ms * 1e6);
  }
  return ms;
}

TEST(Throttling, IsASlowdownOrALowClock) {
  EXPECT_FALSE(is_throttled(at(1980)));
  EXPECT_FALSE(is_throttled(at(1500)));
  EXPECT_TRUE(is_throttled(at(1400)));
  ClockSample hot = at(1980);
  hot.is_slowed = true;
  EXPECT_TRUE(is_throttled(hot));
}

TEST(Throttling, ClocksThatWereLockedLowAreNoThrottling) {
  ClockSample locked = at(1200);
  locked.is_locked = true;
  EXPECT_FALSE(is_throttled(locked));
  locked.is_slowed = true;
  EXPECT_TRUE(is_throttled(locked));
}

TEST(SteadyClocks, HighClocksAreSteadyAfterTheWindow) {
  EXPECT_EQ(steady_after_ms([](int) { return at(1980); }), 21);
}

// 345 MHz for 40 ms, then 15 MHz more each ms, up to 1980.
TEST(SteadyClocks, AnIdleDeviceIsWaitedForUntilItsClocksAreUp) {
  const auto ramp = [](int ms) {
    return at(static_cast<unsigned>(std::min(1980, 345 + std::max(0, ms - 40) * 15)));
  };
  const int ms = steady_after_ms(ramp);
  EXPECT_GE(ms, 40 + 109);
  EXPECT_LE(ms, 40 + 109 + 21);
}

TEST(SteadyClocks, OneThatNeverBecomesSteadyIsGivenUpAfterASecond) {
  EXPECT_EQ(steady_after_ms([](int ms) { return at(ms % 2 == 0 ? 1600 : 1980); }), 1000);
  EXPECT_EQ(steady_after_ms([](int) { return at(345); }), 1000) << "even, but throttled";
}

TEST(ThrottledBlocks, AreRepeatedAndCounted) {
  ThrottledBlocks blocks(9);
  EXPECT_TRUE(blocks.keep(at(1980), at(1980)));
  EXPECT_FALSE(blocks.keep(at(1980), at(1000)));
  EXPECT_FALSE(blocks.keep(at(1000), at(1980)));
  EXPECT_TRUE(blocks.keep(at(1980), at(1980)));
  EXPECT_EQ(blocks.throttled(), 2);
  EXPECT_FALSE(blocks.always_throttled());
}

TEST(ThrottledBlocks, AreKeptWhenRepeatsAreUsedUp) {
  ThrottledBlocks blocks(3);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(blocks.keep(at(1000), at(1000)));
  EXPECT_FALSE(blocks.always_throttled()) << "nothing is kept yet";
  EXPECT_TRUE(blocks.keep(at(1000), at(1000)));
  EXPECT_TRUE(blocks.keep(at(1000), at(1000)));
  EXPECT_EQ(blocks.throttled(), 5);
  EXPECT_TRUE(blocks.always_throttled());
  EXPECT_TRUE(blocks.keep(at(1980), at(1980)));
  EXPECT_FALSE(blocks.always_throttled());
}

}  // namespace
}  // namespace peakmark
