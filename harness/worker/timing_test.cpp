#include "worker/timing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/fake_variants.hpp"

namespace peakmark {
namespace {

using testing::Each;
using testing::SizeIs;
using testing_support::FakeComputation;

/// A device whose clock goes only when a fake computation says that it worked.
class ClockDevice final : public Device {
 public:
  explicit ClockDevice(bool keeps_time = true) : keeps_time_(keeps_time) {}

  void work(std::int64_t ns) { now_ns_ += ns; }

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] DeviceMemory memory() const override { return {}; }
  void fill_part(Array&, Size, Size, double) override {}
  void copy(const Array&, Size, Array&, Size, Size) override {}
  Kernel kernel(const KernelSource&, std::string_view, DType) override { return {}; }
  void launch(const Kernel&, const Range&, std::initializer_list<Argument>) override {}
  void finish() override {}
  std::unique_ptr<TimePoint> time_point() override { return std::make_unique<Point>(now_ns_); }
  std::optional<std::int64_t> elapsed_ns(const TimePoint& from, const TimePoint& to) override {
    if (!keeps_time_) return std::nullopt;
    return static_cast<const Point&>(to).ns - static_cast<const Point&>(from).ns;
  }

 protected:
  std::unique_ptr<Buffer> allocate(Size) override { return nullptr; }
  void write_bytes(Array&, Size, std::span<const std::byte>) override {}
  void read_bytes(const Array&, Size, std::span<std::byte>) override {}

 private:
  struct Point final : TimePoint {
    explicit Point(std::int64_t at) : ns(at) {}
    std::int64_t ns;
  };
  DeviceInfo info_;
  bool keeps_time_;
  std::int64_t now_ns_ = 0;
};

TEST(Timing, AKernelOfKnownTimeIsTimedAsThat) {
  ClockDevice device;
  int calls = 0;
  FakeComputation computation(device, {.call = [&](FakeComputation&) {
                                device.work(42000);
                                ++calls;
                              }});
  const auto timing = time_calls(device, computation, false, {}, std::nullopt, nullptr);
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
  FakeComputation computation(
      device, {.call = [&](FakeComputation&) { device.work(++calls == 1 ? 9000000 : 200000); }});
  const auto timing = time_calls(device, computation, false, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->gpu_time.max_ns, 200000);
}

TEST(Timing, OutliersAreKept) {
  ClockDevice device;
  int calls = 0;
  FakeComputation computation(
      device, {.call = [&](FakeComputation&) { device.work(++calls == 40 ? 900000 : 200000); }});
  const auto timing = time_calls(device, computation, false, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->gpu_time.median_ns, 200000);
  EXPECT_EQ(timing->gpu_time.max_ns, 900000);
}

TEST(Timing, RestoringInputsIsNotTimed) {
  ClockDevice device;
  int calls = 0;
  int restored = 0;
  FakeComputation computation(device, {.call =
                                           [&](FakeComputation&) {
                                             device.work(1000);
                                             ++calls;
                                           },
                                       .restore =
                                           [&](FakeComputation&) {
                                             device.work(77777);
                                             ++restored;
                                           }});
  const auto timing = time_calls(device, computation, true, {}, std::nullopt, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_EQ(timing->gpu_time.max_ns, 1000);
  EXPECT_EQ(restored, calls) << "every call sees fresh inputs";
  EXPECT_GE(calls, 1000) << "restoring does not warm a device up";
}

TEST(Timing, APlanIsRepeatedExactly) {
  ClockDevice device;
  FakeComputation computation(device, {.call = [&](FakeComputation&) { device.work(500000); }});
  const TimingPlan plan{{4, 2}, 3};
  const auto timing = time_calls(device, computation, false, {}, plan, nullptr);
  ASSERT_TRUE(timing);
  EXPECT_THAT(timing->gpu_time.blocks, SizeIs(3));
  EXPECT_THAT(timing->gpu_time.blocks, Each(SizeIs(2)));
  EXPECT_EQ(timing->calls(), 24);
}

TEST(Timing, ADeviceWithoutAClockGivesNoTimes) {
  ClockDevice device(false);
  FakeComputation computation(device, {});
  EXPECT_FALSE(time_calls(device, computation, false, {}, std::nullopt, nullptr));
}

TEST(Timing, KernelsAreTracedOutsideTheTimedBlocks) {
  ClockDevice device;
  int calls = 0;
  FakeComputation computation(device, {.call = [&](FakeComputation&) {
                                device.work(200000);
                                ++calls;
                              }});
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
  const auto timing = time_calls(device, computation, false, {}, std::nullopt, &tracer);
  ASSERT_TRUE(timing);
  ASSERT_THAT(timing->kernels, SizeIs(2));
  EXPECT_EQ(timing->kernels[0].count, 2) << "of one call";
  EXPECT_EQ(timing->kernels[0].ns, 150000);
  EXPECT_EQ(timing->kernels[1].ns, 50000);
  EXPECT_GT(calls, tracer.first);
  EXPECT_GE(tracer.first, timing->calls()) << "blocks come first, untraced";
}

/// Counts what runs between start and stop, restores among it.
TEST(Timing, RestoringInputsIsNotAmongTheRecords) {
  ClockDevice device;
  std::vector<KernelTime> running;
  FakeComputation computation(device, {.call =
                                           [&](FakeComputation&) {
                                             device.work(300000);
                                             running.push_back({"shift", 1, 290000});
                                           },
                                       .restore =
                                           [&](FakeComputation&) {
                                             running.push_back({"[memcpy host to device]", 1, 800000});
                                           }});
  struct Tracer final : KernelTracer {
    explicit Tracer(std::vector<KernelTime>& running) : running_(running) {}
    void start() override { running_.clear(); }
    std::vector<KernelTime> stop() override { return running_; }
    std::vector<KernelTime>& running_;
  } tracer(running);
  const auto timing = time_calls(device, computation, true, {}, std::nullopt, &tracer);
  ASSERT_TRUE(timing);
  ASSERT_THAT(timing->kernels, SizeIs(1));
  EXPECT_EQ(timing->kernels[0].name, "shift");
  EXPECT_EQ(timing->kernels[0].count, 1);
  EXPECT_EQ(timing->kernels[0].ns, 290000);
}

}  // namespace
}  // namespace peakmark
