#include "history/suspicious_cases.hpp"

#include <gmock/gmock.h>

#include "history/run_record.hpp"
#include "history/sample_runs.hpp"

namespace peakmark::history {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Nights of one case that takes `nights` ns, about.
trend::DeviceHistory device_of(const std::vector<double>& nights) {
  trend::DeviceHistory device;
  device.device = "a device";
  device.backend = "opencl";
  trend::Series series;
  series.case_name = "op/b/opencl/n:2";
  series.metric = trend::metric::gpu_time_ns;
  for (std::size_t i = 0; i < nights.size(); ++i) {
    device.runs.push_back(night_of(sample_history_run(static_cast<int>(i) + 1).run.context));
    series.values.emplace_back(nights[i]);
  }
  device.series = {series};
  return device;
}

std::vector<double> steady_nights() {
  std::vector<double> nights;
  for (int i = 0; i < 27; ++i) nights.push_back(1000 + i % 3);
  return nights;
}

TEST(SuspiciousCases, ATimeThatIsOtherThanBefore) {
  const trend::DeviceHistory device = device_of(steady_nights());
  EXPECT_THAT(suspicious_cases({device}, "a device", sample_history_run(28, 1, 1500).run),
              ElementsAre("op/b/opencl/n:2"));
  EXPECT_THAT(suspicious_cases({device}, "a device", sample_history_run(28, 1, 1001).run), IsEmpty());
}

TEST(SuspiciousCases, OfADeviceThatTheHistoryDoesNotKnowThereAreNone) {
  const trend::DeviceHistory device = device_of(steady_nights());
  EXPECT_THAT(suspicious_cases({device}, "another", sample_history_run(28, 1, 1500).run), IsEmpty());
  EXPECT_THAT(suspicious_cases({}, "a device", sample_history_run(28, 1, 1500).run), IsEmpty());
}

TEST(SuspiciousCases, AColdTimeIsNotHeldAgainstHotOnes) {
  trend::DeviceHistory device = device_of(steady_nights());
  device.series[0].cache = "hot";
  peakmark::Run run = sample_history_run(28, 1, 1500).run;
  run.observations[0].cache = cache_state::hot;
  EXPECT_THAT(suspicious_cases({device}, "a device", run), ElementsAre("op/b/opencl/n:2"));
  run.observations[0].cache = cache_state::cold;
  EXPECT_THAT(suspicious_cases({device}, "a device", run), IsEmpty());
}

TEST(SuspiciousCases, ACaseThatFailedHasNoTime) {
  peakmark::Run run = sample_history_run(28, 1, 1500).run;
  run.observations[0].outcome = Outcome::wrong_answer;
  EXPECT_THAT(suspicious_cases({device_of(steady_nights())}, "a device", run), IsEmpty());
}

}  // namespace
}  // namespace peakmark::history
