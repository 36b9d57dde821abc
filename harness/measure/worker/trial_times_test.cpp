#include <gmock/gmock.h>

#include <cmath>

#include "measure/worker/fake_clock_device.hpp"
#include "measure/worker/fake_variants.hpp"
#include "measure/worker/trial.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing_support::ClockDevice;
using testing_support::fake_variant;
using testing_support::FakeCase;

constexpr std::int64_t kColdNs = 3'000'000;
constexpr std::int64_t kHotNs = 2'000'000;

class TrialTimes : public testing::Test {
 protected:
  TrialTimes() { device_.set_cache(1 << 20); }

  Observation measure(CacheChoice cache, bool is_cpu = false, ClockSource* clocks = nullptr) {
    device_.set_cpu(is_cpu);
    const auto call = [this](FakeCase&) {
      device_.work(device_.flushes == flushes_ ? kHotNs : kColdNs);
      flushes_ = device_.flushes;
      max_live_bytes_ = std::max(max_live_bytes_, device_.live_bytes);
    };
    const RegisteredVariant variant = fake_variant("a/b", {.call = call});
    TrialOptions options;
    options.cache = cache;
    options.clocks = clocks;
    Trial trial(device_, nullptr, variant, {"a/b", "opencl", variant.description.defaults()}, "a/b", options);
    trial.measure_memory();
    EXPECT_EQ(max_live_bytes_, 0) << "the memory pass has nothing of the flush";
    EXPECT_TRUE(trial.measure_time());
    EXPECT_EQ(device_.live_bytes, 0) << "nor has that of the next case";
    return trial.observation();
  }

  ClockDevice device_;
  int flushes_ = 0;
  Size max_live_bytes_ = 0;
};

TEST_F(TrialTimes, AreColdOnAGpuAndHotOnACpuUnlessAskedOtherwise) {
  const Observation gpu = measure(CacheChoice::automatic);
  EXPECT_THAT(gpu.cache, Optional(std::string("cold")));
  EXPECT_EQ(gpu.gpu_time->max_ns, kColdNs);
  EXPECT_EQ(gpu.gpu_time->min_ns, kColdNs);
  EXPECT_EQ(max_live_bytes_, 2 << 20);
  EXPECT_EQ(gpu.gpu_time_hot, std::nullopt);
  max_live_bytes_ = 0;
  const Observation cpu = measure(CacheChoice::automatic, true);
  EXPECT_THAT(cpu.cache, Optional(std::string("hot")));
  EXPECT_EQ(cpu.gpu_time->median_ns, kHotNs);
  EXPECT_EQ(max_live_bytes_, 0) << "hot times need no buffer";
}

TEST_F(TrialTimes, BothAreColdWithHotBesideThem) {
  const Observation observation = measure(CacheChoice::both);
  EXPECT_THAT(observation.cache, Optional(std::string("cold")));
  EXPECT_EQ(observation.gpu_time->min_ns, kColdNs);
  ASSERT_TRUE(observation.gpu_time_hot);
  EXPECT_EQ(observation.gpu_time_hot->max_ns, kHotNs);
  EXPECT_THAT(observation.message, IsEmpty());
  EXPECT_EQ(observation.throttled_blocks, std::nullopt) << "nothing reports clocks";
}

TEST(TrialMetrics, AreReadOnceAfterVerify) {
  testing_support::ClockDevice device;
  const auto measured = [&](std::vector<CaseInstance::Metric> metrics) {
    const RegisteredVariant variant = fake_variant("a/b", {.metrics = std::move(metrics)});
    Trial trial(device, nullptr, variant, {"a/b", "opencl", variant.description.defaults()}, "a/b", {});
    trial.measure_memory();
    return trial.observation();
  };
  const Observation observation = measured(
      {{"iterations", 12, PEAKMARK_LOWER}, {"rate", 0.5, PEAKMARK_HIGHER}, {"halo", 3, PEAKMARK_NEITHER}});
  EXPECT_EQ(observation.outcome, Outcome::ok);
  EXPECT_EQ(observation.metrics,
            (std::map<std::string, double>{{"halo", 3}, {"iterations", 12}, {"rate", 0.5}}));
  EXPECT_EQ(observation.metric_directions,
            (std::map<std::string, std::string>{{"iterations", "lower"}, {"rate", "higher"}}));
  const Observation wrong = measured({{"error", std::nan(""), PEAKMARK_LOWER}, {"halo", 3, 0}});
  EXPECT_EQ(wrong.outcome, Outcome::wrong_answer) << "max_metric of an error must not pass";
  EXPECT_EQ(wrong.message, "metric 'error' is nan: report a finite number");
  EXPECT_EQ(wrong.metrics, (std::map<std::string, double>{{"halo", 3}}));
}

TEST_F(TrialTimes, WithoutMemoryForTheFlushTimesAreHotWithANote) {
  device_.max_bytes = 1 << 20;
  const Observation observation = measure(CacheChoice::both);
  EXPECT_EQ(observation.outcome, Outcome::ok);
  EXPECT_THAT(observation.cache, Optional(std::string("hot")));
  EXPECT_EQ(observation.gpu_time->median_ns, kHotNs);
  EXPECT_EQ(observation.gpu_time_hot, std::nullopt);
  EXPECT_THAT(observation.message, HasSubstr("hot times: too little device memory"));
}

TEST_F(TrialTimes, NoHotRepetitionIsAddedToColdOnes) {
  const RegisteredVariant variant =
      fake_variant("a/b", {.call = [this](FakeCase&) { device_.work(kColdNs); }});
  TrialOptions options;
  options.cache = CacheChoice::cold;
  Trial trial(device_, nullptr, variant, {"a/b", "opencl", variant.description.defaults()}, "a/b", options);
  trial.measure_memory();
  EXPECT_TRUE(trial.measure_time());
  device_.max_bytes = 1;
  EXPECT_FALSE(trial.measure_time());
  EXPECT_EQ(trial.observation().outcome, Outcome::out_of_memory);
  EXPECT_THAT(trial.observation().cache, Optional(std::string("cold")));
}

TEST_F(TrialTimes, OfADeviceThatDoesNotReportItsCacheAreHotWithANote) {
  device_.set_cache(std::nullopt);
  const Observation observation = measure(CacheChoice::cold);
  EXPECT_THAT(observation.cache, Optional(std::string("hot")));
  EXPECT_THAT(observation.message, HasSubstr("hot times: the device does not report the size of its cache"));
}

TEST_F(TrialTimes, OfADeviceThatIsAlwaysThrottledHaveANote) {
  struct Clocks final : ClockSource {
    explicit Clocks(const ClockDevice& device) : device_(device) {}
    // The device is slowed from the first flush on. The flush comes after the warm-up.
    std::optional<ClockSample> sample() override {
      return ClockSample{.sm_mhz = 1980, .max_sm_mhz = 1980, .is_slowed = device_.flushes > 0};
    }
    const ClockDevice& device_;
  } clocks(device_);
  const Observation observation = measure(CacheChoice::cold, false, &clocks);
  EXPECT_EQ(observation.outcome, Outcome::ok);
  EXPECT_GE(observation.throttled_blocks.value(), 9 + 9) << "repeated, and kept";
  EXPECT_THAT(observation.message, HasSubstr("throttled: the device's clocks were held down in every block"));
}

TEST(CacheChoiceNames, AreReadAndOthersRefused) {
  EXPECT_EQ(parse_cache_choice("auto"), CacheChoice::automatic);
  EXPECT_EQ(parse_cache_choice("both"), CacheChoice::both);
  EXPECT_THROW(parse_cache_choice("warm"), UsageError);
}

}  // namespace
}  // namespace peakmark
