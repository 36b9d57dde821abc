#include "measure/worker/timing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/worker/fake_clock_device.hpp"

namespace peakmark {
namespace {

using testing::Each;
using testing::SizeIs;
using testing_support::ClockDevice;

TEST(Timing, AKernelOfKnownTimeIsTimedAsThat) {
  ClockDevice device;
  int calls = 0;
  const TimedWork work{.call = [&] {
    device.work(42000);
    ++calls;
  }};
  const auto timing = time_calls(device, work, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->gpu_time.median_ns, 42000);
  EXPECT_EQ(timing->gpu_time.min_ns, 42000);
  EXPECT_EQ(timing->plan.block.calls, 3);
  EXPECT_EQ(timing->plan.blocks, timing->gpu_time.blocks.size());
  EXPECT_GE(timing->plan.blocks, 9U);
  EXPECT_GT(calls, timing->calls()) << "the warm-up is not timed";
  EXPECT_EQ(timing->total_ns, 42000.0 * static_cast<double>(timing->calls()));
}

TEST(Timing, TheFirstCallsWarmUpOnly) {
  ClockDevice device;
  int calls = 0;
  const TimedWork work{.call = [&] { device.work(++calls == 1 ? 9000000 : 200000); }};
  const auto timing = time_calls(device, work, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->gpu_time.max_ns, 200000);
}

TEST(Timing, OutliersAreKept) {
  ClockDevice device;
  int calls = 0;
  const TimedWork work{.call = [&] { device.work(++calls == 40 ? 900000 : 200000); }};
  const auto timing = time_calls(device, work, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->gpu_time.median_ns, 200000);
  EXPECT_EQ(timing->gpu_time.max_ns, 900000);
}

TEST(Timing, RestoringInputsIsNotTimed) {
  ClockDevice device;
  int calls = 0;
  int restored = 0;
  const TimedWork work{.call =
                           [&] {
                             device.work(1000);
                             ++calls;
                           },
                       .restore =
                           [&] {
                             device.work(77777);
                             ++restored;
                           }};
  const auto timing = time_calls(device, work, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->gpu_time.max_ns, 1000);
  EXPECT_EQ(restored, calls) << "every call sees fresh inputs";
  EXPECT_GE(calls, 1000) << "restoring does not warm a device up";
}

TEST(Timing, APlanIsRepeatedExactly) {
  ClockDevice device;
  const TimedWork work{.call = [&] { device.work(500000); }};
  const TimingPlan plan{{4, 2}, 3};
  const auto timing = time_calls(device, work, {}, plan, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_THAT(timing->gpu_time.blocks, SizeIs(3));
  EXPECT_THAT(timing->gpu_time.blocks, Each(SizeIs(2)));
  EXPECT_EQ(timing->calls(), 24);
}

TEST(Timing, ADeviceWithoutAClockGivesNoTimes) {
  ClockDevice device(false);
  const TimedWork work{.call = [] {}};
  EXPECT_FALSE(time_calls(device, work, {}, std::nullopt, nullptr));
}

TEST(Timing, KernelsAreTracedOutsideTheTimedBlocks) {
  ClockDevice device;
  int calls = 0;
  const TimedWork work{.call = [&] {
    device.work(200000);
    ++calls;
  }};
  struct Tracer final : KernelTracer {
    explicit Tracer(const int& calls) : calls_(calls) {}
    void start() override { first = calls_; }
    std::vector<KernelTime> stop() override {
      const std::int64_t traced = calls_ - first;
      return {{"shift", 2 * traced, 150000 * traced}, {"fill", traced, 50000 * traced}};
    }
    const int& calls_;
    int first = -1;
  } tracer(calls);
  const auto timing = time_calls(device, work, {}, std::nullopt, &tracer);
  ASSERT_TRUE(timing);
  ASSERT_THAT(timing->kernels, SizeIs(2));
  EXPECT_EQ(timing->kernels[0].count, 2) << "of one call";
  EXPECT_EQ(timing->kernels[0].ns, 150000);
  EXPECT_EQ(timing->kernels[1].ns, 50000);
  EXPECT_GT(calls, tracer.first);
  EXPECT_GE(tracer.first, timing->calls()) << "blocks come first, untraced";
}

/// Records all work between start and stop, including restores.
TEST(Timing, RestoringInputsIsNotAmongTheRecords) {
  ClockDevice device;
  std::vector<KernelTime> running;
  const TimedWork work{.call =
                           [&] {
                             device.work(300000);
                             running.push_back({"shift", 1, 290000});
                           },
                       .restore =
                           [&] {
                             running.push_back({"[memcpy host to device]", 1, 800000});
                           }};
  struct Tracer final : KernelTracer {
    explicit Tracer(std::vector<KernelTime>& running) : running_(running) {}
    void start() override { running_.clear(); }
    std::vector<KernelTime> stop() override { return running_; }
    std::vector<KernelTime>& running_;
  } tracer(running);
  const auto timing = time_calls(device, work, {}, std::nullopt, &tracer);
  ASSERT_TRUE(timing);
  ASSERT_THAT(timing->kernels, SizeIs(1));
  EXPECT_EQ(timing->kernels[0].name, "shift");
  EXPECT_EQ(timing->kernels[0].count, 1);
  EXPECT_EQ(timing->kernels[0].ns, 290000);
}

TEST(ColdTiming, TheCacheIsFlushedBeforeEachCallAndOutsideTheTime) {
  ClockDevice device;
  device.set_cache(1 << 20);
  int calls = 0;
  int unflushed = 0;
  int flushes_at_last_call = 0;
  const TimedWork work{.call = [&] {
    device.work(42000);
    ++calls;
    if (device.flushes == flushes_at_last_call) ++unflushed;
    flushes_at_last_call = device.flushes;
  }};
  {
    CacheFlush flush(device);
    EXPECT_EQ(device.live_bytes, 1 << 20);
    const auto timing = time_calls(device, work, {}, std::nullopt, nullptr, {&flush});
    ASSERT_TRUE(timing);
    EXPECT_EQ(timing->gpu_time.max_ns, 42000);
    EXPECT_EQ(timing->plan.block.calls, 1) << "each call is a sample";
    EXPECT_EQ(device.flushes, timing->calls() + 1) << "and once to plan the blocks";
    EXPECT_EQ(calls - unflushed, device.flushes) << "the warm-up alone is not flushed";
  }
  EXPECT_EQ(device.live_bytes, 0) << "the next memory pass finds nothing of it";
}

TEST(ColdTiming, OnAGpuTheFlushIsLongAndItsBufferLargerThanTheCache) {
  ClockDevice device;
  device.set_cache(1 << 20);
  device.set_cpu(false);
  CacheFlush flush(device);
  EXPECT_EQ(device.live_bytes, 2 << 20);
  flush.enqueue();
  EXPECT_EQ(device.flushes, 2);
}

TEST(ColdTiming, ADeviceThatDoesNotReportItsCacheHasNoColdTimes) {
  ClockDevice device;
  EXPECT_THROW(CacheFlush{device}, UnsupportedError);
}

TEST(ColdTiming, RecordsOfKernelsAreColdToo) {
  ClockDevice device;
  device.set_cache(1 << 20);
  const TimedWork work{.call = [&] { device.work(300000); }};
  struct Tracer final : KernelTracer {
    explicit Tracer(const ClockDevice& device) : device_(device) {}
    void start() override { at_start = device_.flushes; }
    std::vector<KernelTime> stop() override {
      flushed_while_tracing += device_.flushes - at_start;
      return {{"pad", 1, 290000}};
    }
    const ClockDevice& device_;
    int at_start = 0;
    int flushed_while_tracing = 0;
  } tracer(device);
  CacheFlush flush(device);
  const auto timing = time_calls(device, work, {}, std::nullopt, &tracer, {&flush});
  ASSERT_TRUE(timing);
  ASSERT_THAT(timing->kernels, SizeIs(1));
  EXPECT_EQ(timing->kernels[0].count, 1);
  EXPECT_EQ(tracer.flushed_while_tracing, 0);
}

/// Blocks with one sample of seven calls, a number that the warm-up never makes, and clocks that change with
/// the blocks.
class ThrottledTiming : public testing::Test {
 protected:
  static constexpr std::int64_t kCalls = 7;

  struct Clocks final : ClockSource {
    explicit Clocks(const ThrottledTiming& test) : test_(test) {}
    std::optional<ClockSample> sample() override {
      return ClockSample{.sm_mhz = test_.is_hot_after(test_.blocks_) ? 900U : 1980U, .max_sm_mhz = 1980};
    }
    const ThrottledTiming& test_;
  };

  std::optional<Timing> time(std::size_t blocks) {
    const TimedWork work{.call = [this] { call(); }};
    Clocks clocks(*this);
    return time_calls(device_, work, {}, TimingPlan{{kCalls, 1}, blocks}, nullptr, {nullptr, &clocks});
  }

  std::function<bool(int)> is_hot_after;  ///< the argument is the number of blocks

 private:
  void call() {
    device_.work(200000);
    if (device_.points != interval_) calls_ = 0;
    interval_ = device_.points;
    if (++calls_ == kCalls) ++blocks_;
  }

  ClockDevice device_;
  int interval_ = 0;
  std::int64_t calls_ = 0;
  int blocks_ = 0;
};

TEST_F(ThrottledTiming, ThrottledBlocksAreRepeatedAndCounted) {
  is_hot_after = [](int blocks) { return blocks == 2 || blocks == 3; };
  const auto timing = time(9);
  ASSERT_TRUE(timing);
  EXPECT_THAT(timing->gpu_time.blocks, SizeIs(9));
  EXPECT_THAT(timing->throttled_blocks, testing::Optional(3)) << "2 and 3, and 4 at its begin";
  EXPECT_FALSE(timing->always_throttled);
}

TEST_F(ThrottledTiming, ADeviceThatIsAlwaysHotHasTimesWithANote) {
  is_hot_after = [](int blocks) { return blocks >= 1; };
  const auto timing = time(2);
  ASSERT_TRUE(timing);
  EXPECT_THAT(timing->gpu_time.blocks, SizeIs(2));
  EXPECT_THAT(timing->throttled_blocks, testing::Optional(11)) << "9 repeated, 2 kept";
  EXPECT_TRUE(timing->always_throttled);
}

TEST_F(ThrottledTiming, ASteadyDeviceRepeatsNothing) {
  is_hot_after = [](int) { return false; };
  const auto timing = time(9);
  ASSERT_TRUE(timing);
  EXPECT_THAT(timing->throttled_blocks, testing::Optional(0));
}

TEST_F(ThrottledTiming, WithoutClocksNothingIsKnown) {
  ClockDevice device;
  const TimedWork work{.call = [&] { device.work(200000); }};
  const auto timing = time_calls(device, work, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->throttled_blocks, std::nullopt);
  EXPECT_FALSE(timing->always_throttled);
}

}  // namespace
}  // namespace peakmark
