#include "measure/runfile/run_summary.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/runfile/sample_run.hpp"

namespace peakmark {

namespace {

peakmark::Run run_of(const std::vector<std::pair<Outcome, std::string>>& cases) {
  peakmark::Run run;
  for (const auto& [outcome, expected] : cases) {
    PlannedCase planned;
    planned.name = "case" + std::to_string(run.context.planned.size());
    planned.expected_outcome = expected;
    run.context.planned.push_back(planned);
    run.observations.push_back(example_observation(planned.name));
    run.observations.back().outcome = outcome;
  }
  return run;
}

TEST(RunSummary, CountsOutcomes) {
  EXPECT_EQ(summary(run_of({{Outcome::ok, "ok"}, {Outcome::crashed, "ok"}, {Outcome::ok, "ok"}})),
            "3 cases: 2 ok, 1 crashed");
}

TEST(RunSummary, CasesWithoutAMeasurementAreSkippedAndExpectedOutcomesAreNamed) {
  EXPECT_EQ(summary(run_of({{Outcome::unsupported, "ok"},
                            {Outcome::ok, "ok"},
                            {Outcome::out_of_memory, "out_of_memory"},
                            {Outcome::out_of_memory, "ok"},
                            {Outcome::unsupported, "unsupported"}})),
            "5 cases: 1 ok, 1 as expected (1 out_of_memory), 3 skipped (1 out_of_memory, 2 unsupported)");
}

TEST(RunSummary, FailedMeasurementsGiveTheirExitCodeUnlessExpected) {
  EXPECT_EQ(exit_code_of(run_of({{Outcome::ok, "ok"}})), ExitCode::clean);
  for (const Outcome failure : {Outcome::crashed, Outcome::timeout, Outcome::wrong_answer}) {
    EXPECT_EQ(exit_code_of(run_of({{Outcome::ok, "ok"}, {failure, "ok"}})), ExitCode::measurement);
    EXPECT_EQ(exit_code_of(run_of({{failure, std::string(to_string(failure))}})), ExitCode::clean);
  }
  EXPECT_EQ(exit_code_of(run_of({{Outcome::crashed, "timeout"}})), ExitCode::measurement);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::out_of_memory, "ok"}, {Outcome::ok, "ok"}})), ExitCode::clean);
}

TEST(RunSummary, NothingWasMeasuredWhenNothingIsSupportedOrFits) {
  EXPECT_EQ(exit_code_of(run_of({{Outcome::out_of_memory, "ok"}, {Outcome::unsupported, "ok"}})),
            ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::out_of_memory, "out_of_memory"}})), ExitCode::clean);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::unsupported, "unsupported"}})), ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({})), ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::unsupported, "ok"}, {Outcome::unsupported, "ok"}})),
            ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::unsupported, "ok"}, {Outcome::ok, "ok"}})), ExitCode::clean);
}

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// A case whose call takes `event_ns` by events, and that has these records.
Observation timed(double event_ns, std::vector<KernelTime> records) {
  Observation observation;
  observation.case_name = "op/a/cuda/n:20";
  observation.gpu_time = GpuTime{event_ns, event_ns, event_ns, {{event_ns}}};
  observation.kernels = std::move(records);
  return observation;
}

TEST(PeakGroup, HasTheNumberAndTheLargestOfItsAllocations) {
  EXPECT_TRUE(group_peak({}).empty());
  const std::vector<PeakGroup> groups = group_peak({{"", "buffer", 1024},
                                                    {"plan", "buffer", 3000},
                                                    {"", "image", 10},
                                                    {"", "buffer", 2048},
                                                    {"", "buffer", 5}});
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].bytes, 3077);
  EXPECT_EQ(to_text(groups[0]), "3 × buffer, largest 2 KiB");
  EXPECT_EQ(to_text(groups[1]), "plan 2.93 KiB");
  EXPECT_EQ(to_text(groups[2]), "image 10 B");
}

TEST(KernelTime, OneLaunchIsCompared) {
  EXPECT_EQ(records_over_events(timed(1e6, {{"pad", 1, 980'000}})), 0.98);
  EXPECT_EQ(records_over_events(timed(1e6, {{"[memcpy device to device]", 1, 1'300'000}})), 1.3);
}

TEST(KernelTime, ShortCallsAreNotCompared) {
  EXPECT_EQ(records_over_events(timed(199'999, {{"pad", 1, 100'000}})), std::nullopt);
  EXPECT_EQ(records_over_events(timed(200'000, {{"pad", 1, 100'000}})), 0.5);
}

/// Two kernels that run side by side take more than the time of the call. A kernel and a wait of the host
/// take less. A copy beside a kernel is work too. None of these is a mistake of the clocks.
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

TEST(KernelTime, ARunReportsWhichCasesDisagree) {
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
