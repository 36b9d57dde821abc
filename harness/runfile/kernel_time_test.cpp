#include "runfile/kernel_time.hpp"

#include <gmock/gmock.h>

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A case whose call takes `event_ns` by events, and is these records.
Observation timed(double event_ns, std::vector<KernelTime> records) {
  Observation observation;
  observation.case_name = "op/a/cuda/n:20";
  observation.gpu_time = GpuTime{event_ns, event_ns, event_ns, {{event_ns}}};
  observation.kernels = std::move(records);
  return observation;
}

TEST(KernelTime, OneLaunchIsCompared) {
  EXPECT_EQ(records_over_events(timed(1e6, {{"pad", 1, 980'000}})), 0.98);
  EXPECT_EQ(records_over_events(timed(1e6, {{"[memcpy device to device]", 1, 1'300'000}})), 1.3);
}

TEST(KernelTime, ShortCallsAreNotCompared) {
  EXPECT_EQ(records_over_events(timed(199'999, {{"pad", 1, 100'000}})), std::nullopt);
  EXPECT_EQ(records_over_events(timed(200'000, {{"pad", 1, 100'000}})), 0.5);
}

/// Two kernels side by side are more than the time of the call, a kernel and a wait of the host are less, and
/// a copy beside a kernel is work too: none of it is a mistake of the clocks.
TEST(KernelTime, CallsOfSeveralPartsAreNotCompared) {
  EXPECT_EQ(records_over_events(timed(1e6, {{"left", 1, 900'000}, {"right", 1, 900'000}})), std::nullopt);
  EXPECT_EQ(records_over_events(timed(1e6, {{"row", 20, 600'000}})), std::nullopt);
  EXPECT_EQ(records_over_events(timed(1e6, {{"pad", 1, 400'000}, {"[memset]", 1, 1'000}})), std::nullopt);
}

TEST(KernelTime, WhatIsUnknownIsNotCompared) {
  EXPECT_EQ(records_over_events(timed(1e6, {})), std::nullopt);
  Observation untimed = timed(1e6, {{"pad", 1, 980'000}});
  untimed.gpu_time.reset();
  EXPECT_EQ(records_over_events(untimed), std::nullopt);
}

TEST(KernelTime, ARunSaysWhichCasesDisagree) {
  peakmark::Run run;
  for (int n = 0; n < 7; ++n) {
    run.observations.push_back(timed(1e6, {{"pad", 1, 500'000}}));
    run.observations.back().case_name = "op/bad/cuda/n:" + std::to_string(n);
  }
  run.observations.push_back(timed(1e6, {{"pad", 1, 1'050'000}}));
  EXPECT_THAT(kernel_time_warning(run),
              AllOf(HasSubstr("7 cases"), HasSubstr("op/bad/cuda/n:4 (0.50)"), HasSubstr("and 2 more"),
                    Not(HasSubstr("n:5")), Not(HasSubstr("op/a"))));
  run.observations = {timed(1e6, {{"pad", 1, 950'000}})};
  EXPECT_EQ(kernel_time_warning(run), "");
}

}  // namespace
}  // namespace peakmark
