#include "measure/check/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measure/check/reports.hpp"
#include "measure/check/sample_run.hpp"

namespace peakmark {
namespace {

/// The verdict of one rule on the only case of a run; fails the test when there is none.
Verdict verdict_of(const Run& run, Rule rule, const JudgeOptions& options = {}) {
  for (const Verdict& verdict : judge(run, options)) {
    if (verdict.rule == rule) return verdict;
  }
  ADD_FAILURE() << "no verdict " << to_string(rule);
  return {};
}

ExitCode code_of(const Run& run, const JudgeOptions& options = {}) {
  return exit_code_of(run, judge(run, options));
}

TEST(Judge, AnExactEstimateIsInsideTheWindow) {
  SampleRun sample;
  sample.add("case", 20, 2000, 20, 2000);
  EXPECT_EQ(code_of(sample.run), ExitCode::clean);
  EXPECT_EQ(verdict_of(sample.run, Rule::window_slices).figure, 1.0);
  EXPECT_EQ(verdict_of(sample.run, Rule::window_bytes).figure, 1.0);
}

TEST(Judge, TheWindowIsClosedAtBothEnds) {
  SampleRun low;
  low.add("case", 20, 800, 16, 1000);
  EXPECT_EQ(code_of(low.run), ExitCode::clean);
  SampleRun below;
  below.add("case", 20, 799, 15, 1000);
  EXPECT_EQ(verdict_of(below.run, Rule::window_slices).judgement, Judgement::fail);
  EXPECT_EQ(verdict_of(below.run, Rule::window_bytes).judgement, Judgement::fail);
  SampleRun above;
  above.add("case", 20, 1001, 21, 1000);
  EXPECT_EQ(verdict_of(above.run, Rule::window_slices).judgement, Judgement::fail);
  EXPECT_EQ(verdict_of(above.run, Rule::window_bytes).judgement, Judgement::fail);
  EXPECT_EQ(code_of(above.run), ExitCode::verdict);
}

/// An estimate 30 % too high: 1.3 × the bytes, so 15 of 20 slices. One 5 % too low: 21 of 20.
TEST(Judge, PlantedEstimatorsAreFound) {
  SampleRun high;
  high.add("case", 20, 2000, 15, 2600);
  EXPECT_EQ(code_of(high.run), ExitCode::verdict);
  EXPECT_THAT(verdict_of(high.run, Rule::window_bytes).advice,
              testing::HasSubstr("2,600 bytes, but 2,000 are needed (600 spare)"));
  SampleRun low;
  low.add("case", 20, 2000, 21, 1900);
  EXPECT_EQ(code_of(low.run), ExitCode::verdict);
  EXPECT_THAT(verdict_of(low.run, Rule::window_bytes).advice,
              testing::HasSubstr("1,900 bytes, but 2,000 are needed (100 short)"));
}

TEST(Judge, BelowFiveSlicesOnlyBytesGate) {
  SampleRun sample;
  sample.add("case", 4, 900, 3, 1000);
  EXPECT_EQ(verdict_of(sample.run, Rule::window_slices).judgement, Judgement::warning);
  EXPECT_EQ(code_of(sample.run), ExitCode::clean);
  sample.run.observations[0].estimate->bytes_estimated = 899;
  EXPECT_EQ(code_of(sample.run), ExitCode::verdict);
}

TEST(Judge, ASuiteOrTheCommandLineMayHaveAnotherWindow) {
  SampleRun sample;
  sample.add("case", 20, 2000, 15, 2600);
  sample.run.context.planned[0].window = {0.5, 1.0};
  EXPECT_EQ(code_of(sample.run), ExitCode::clean);
  EXPECT_EQ(code_of(sample.run, {Window{0.9, 1.1}}), ExitCode::verdict);
}

TEST(Judge, OutcomesAreCountedOrFailTheMeasurement) {
  for (const Outcome outcome : {Outcome::crashed, Outcome::timeout, Outcome::wrong_answer}) {
    SampleRun sample;
    sample.add("good", 20, 2000, 20, 2000);
    sample.add_ended("bad", outcome, "why");
    EXPECT_EQ(code_of(sample.run), ExitCode::measurement) << to_string(outcome);
  }
  for (const Outcome outcome : {Outcome::out_of_memory, Outcome::unsupported}) {
    SampleRun sample;
    sample.add("good", 20, 2000, 20, 2000);
    sample.add_ended("bad", outcome, "why");
    EXPECT_EQ(code_of(sample.run), ExitCode::clean) << to_string(outcome);
    const std::vector<Verdict> verdicts = judge(sample.run, {});
    EXPECT_EQ(by_case(sample.run, verdicts)[1].judgement(), Judgement::skipped);
    EXPECT_EQ(verdicts.back().advice, std::string(to_string(outcome)) + ": why");
  }
}

TEST(Judge, ACaseThatCannotRunIsSkippedAlsoWhereTheSuiteExpectsIt) {
  SampleRun sample;
  sample.add_ended("case", Outcome::unsupported, "no cuFFT here");
  sample.run.context.planned[0].expected_outcome = "unsupported";
  EXPECT_EQ(verdict_of(sample.run, Rule::outcome).judgement, Judgement::skipped);
  EXPECT_EQ(verdict_of(sample.run, Rule::outcome).advice,
            "unsupported: no cuFFT here (as the suite expects)");
  EXPECT_EQ(code_of(sample.run), ExitCode::nothing);
}

TEST(Judge, ExpectedOutcomesAreAsExpectedAndTheirAbsenceFails) {
  for (const Outcome outcome :
       {Outcome::out_of_memory, Outcome::crashed, Outcome::timeout, Outcome::wrong_answer}) {
    SampleRun sample;
    sample.add_ended("case", outcome, "");
    sample.run.context.planned[0].expected_outcome = to_string(outcome);
    EXPECT_EQ(code_of(sample.run), ExitCode::clean);
    EXPECT_EQ(verdict_of(sample.run, Rule::outcome).judgement, Judgement::as_expected);
    EXPECT_EQ(verdict_of(sample.run, Rule::outcome).advice, to_string(outcome));
  }
  SampleRun good;
  good.add("case", 20, 2000, 20, 2000);
  good.run.context.planned[0].expected_outcome = "out_of_memory";
  EXPECT_EQ(code_of(good.run), ExitCode::verdict);
}

TEST(Judge, AMissingCaseFailsAndNothingMeasuredIsNothing) {
  SampleRun sample;
  sample.add("good", 20, 2000, 20, 2000);
  sample.plan("missing");
  EXPECT_EQ(code_of(sample.run), ExitCode::measurement);
  const std::vector<Verdict> verdicts = judge(sample.run, {});
  EXPECT_EQ(by_case(sample.run, verdicts)[1].observation, nullptr);

  SampleRun empty;
  empty.plan("missing");
  EXPECT_EQ(code_of(empty.run), ExitCode::nothing);
  EXPECT_EQ(code_of(peakmark::Run{}), ExitCode::nothing);
  SampleRun unsupported;
  unsupported.add_ended("case", Outcome::unsupported, "no f64 here");
  EXPECT_EQ(code_of(unsupported.run), ExitCode::nothing);
}

TEST(Judge, AnUnknownPeakIsNoZero) {
  SampleRun sample;
  sample.add("case", 20, 2000, 20, 2000).requested_peak_bytes.reset();
  EXPECT_EQ(code_of(sample.run), ExitCode::measurement);
}

TEST(Judge, ALeakOfEachCallIsNamed) {
  SampleRun leak;
  Observation& observation = leak.add("case", 20, 2000, 20, 2000);
  observation.leaked_bytes = 0;
  observation.repeated_calls = 8;
  EXPECT_EQ(verdict_of(leak.run, Rule::leak).judgement, Judgement::pass);
  observation.call_leaks = {{"cache", "buffer", "call", "padding.py:7", 350, 50},
                            {"", "image", "call", "", 300, std::nullopt}};
  EXPECT_EQ(verdict_of(leak.run, Rule::leak).advice,
            "50 bytes left by each of 8 calls: cache (buffer), padding.py:7; 300 bytes left by the first 7 "
            "calls: (unnamed) (image)");
  EXPECT_EQ(code_of(leak.run), ExitCode::verdict);
}

TEST(Judge, APeakOfRepeatedCallsThatDriftsFails) {
  SampleRun drift;
  Observation& observation = drift.add("case", 20, 2000, 20, 2000);
  observation.repeated_calls = 8;
  EXPECT_EQ(verdict_of(drift.run, Rule::leak).judgement, Judgement::pass);
  observation.peak_drift_bytes = 300;
  EXPECT_EQ(verdict_of(drift.run, Rule::leak).advice,
            "the peak of a call drifts: 300 bytes more in the second half of 8 calls");
  EXPECT_EQ(code_of(drift.run), ExitCode::verdict);
}

TEST(Judge, LeaksFailAndPeaksThatDifferAreReported) {
  SampleRun leak;
  leak.add("case", 20, 2000, 20, 2000).leaked_bytes = 256;
  EXPECT_EQ(verdict_of(leak.run, Rule::leak).figure, 256);
  EXPECT_EQ(code_of(leak.run), ExitCode::verdict);
  SampleRun moved;
  Observation& observation = moved.add("case", 20, 2000, 20, 2000);
  observation.second_pass_peak_bytes = 2100;
  observation.moved_allocations = {"workspace 100 bytes more"};
  EXPECT_EQ(verdict_of(moved.run, Rule::repeat).judgement, Judgement::warning);
  EXPECT_THAT(verdict_of(moved.run, Rule::repeat).advice, testing::HasSubstr("workspace"));
}

TEST(Judge, KernelRecordsAndEventsThatDisagreeAreCounted) {
  SampleRun sample;
  Observation& observation = sample.add("case", 20, 2000, 20, 2000);
  observation.gpu_time = GpuTime{1e6, 1e6, 1e6, {{1e6}}};
  observation.kernels = {{"pad", 1, 1'060'000}};
  const Verdict apart = verdict_of(sample.run, Rule::kernel_time);
  EXPECT_EQ(apart.judgement, Judgement::warning);
  EXPECT_EQ(apart.figure, 1.06);
  EXPECT_THAT(apart.advice,
              testing::HasSubstr("pad takes 1.06 ms in the device's records, 1 ms in its events"));
  EXPECT_EQ(code_of(sample.run), ExitCode::clean);
  sample.run.observations[0].kernels[0].ns = 1'050'000;
  EXPECT_EQ(verdict_of(sample.run, Rule::kernel_time).judgement, Judgement::pass);
}

TEST(Judge, TimesThatCannotBeComparedHaveNoVerdict) {
  SampleRun sample;
  Observation& observation = sample.add("case", 20, 2000, 20, 2000);
  observation.gpu_time = GpuTime{1e6, 1e6, 1e6, {{1e6}}};
  observation.kernels = {{"pad", 1, 300'000}, {"[memcpy device to device]", 1, 300'000}};
  for (const Verdict& verdict : judge(sample.run, {})) EXPECT_NE(verdict.rule, Rule::kernel_time);
}

TEST(Judge, ALimitOfThePeakIsKeptUpToItsLastByte) {
  SampleRun sample;
  sample.add("case", 20, 2000, 20, 2000);
  sample.run.context.planned[0].limits.peak_bytes = 2000;
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).judgement, Judgement::pass);
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).figure, 1);
  sample.run.context.planned[0].limits.peak_bytes = 1600;
  const Verdict above = verdict_of(sample.run, Rule::limit);
  EXPECT_EQ(above.judgement, Judgement::fail);
  EXPECT_EQ(above.figure, 1.25);
  EXPECT_EQ(above.advice, "peak too high: 2,000 bytes; max_peak is 1,600 (400 more)");
  EXPECT_EQ(code_of(sample.run), ExitCode::verdict);
  EXPECT_THAT(headline(sample.run, judge(sample.run, {})), testing::HasSubstr("1 fail (1 limit)"));
}

TEST(Judge, ALimitOverTheFloorNeedsAFloor) {
  SampleRun sample;
  Observation& observation = sample.add("case", 20, 2100, 20, 2100);
  observation.input_bytes = 800;
  observation.output_bytes = 1200;
  sample.run.context.planned[0].limits.peak_over_floor = 1.05;  // 2100 / 2000
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).judgement, Judgement::pass);
  observation.requested_peak_bytes = 2400;
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).advice,
            "peak too high: 1.200 of the 2,000 bytes of inputs and outputs; max_peak_over_floor is 1.05");
  for (const std::optional<Size> unknown : {std::optional<Size>(), std::optional<Size>(0)}) {
    observation.input_bytes = unknown;
    observation.output_bytes = unknown;
    const Verdict verdict = verdict_of(sample.run, Rule::limit);
    EXPECT_EQ(verdict.judgement, Judgement::warning);
    EXPECT_EQ(verdict.reason(), "no floor");
  }
}

TEST(Judge, ALimitOfTheTimeIsNotPassedWithoutATime) {
  SampleRun sample;
  Observation& observation = sample.add("case", 20, 2000, 20, 2000);
  sample.run.context.planned[0].limits.time_ns = 2e6;
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).judgement, Judgement::warning);
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).reason(), "no time");
  observation.gpu_time = GpuTime{2e6, 1e6, 3e6, {{2e6}}};
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).judgement, Judgement::pass);
  observation.gpu_time->median_ns = 2.5e6;
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).advice, "too slow: 2.5 ms; max_time is 2 ms");
}

TEST(Judge, ALimitOfAMetricIsKeptUpToItsValue) {
  SampleRun sample;
  Observation& observation = sample.add("case", 20, 2000, 20, 2000);
  observation.metrics = {{"iterations", 30}};
  sample.run.context.planned[0].limits.metrics = {{"iterations", 2, 30}};
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).judgement, Judgement::pass);
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).figure, 30);
  observation.metrics = {{"iterations", 31.5}};
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).advice, "iterations too high: 31.5; max_metric is 30");
  EXPECT_EQ(code_of(sample.run), ExitCode::verdict);
  observation.metrics = {{"iterations", 1}};
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).advice, "iterations too low: 1; min_metric is 2");
  observation.metrics = {{"iteration", 1}};
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).judgement, Judgement::warning);
  EXPECT_EQ(verdict_of(sample.run, Rule::limit).advice,
            "no metric: the case does not report 'iterations', so its limit is not judged; did you mean "
            "'iteration'? (known: iteration)");
}

TEST(Judge, TheDtypeThatAnEstimatorReturnsMustBeReal) {
  SampleRun sample;
  sample.add("case", 20, 2000, 20, 2000).estimate->dtype = "f64";
  EXPECT_EQ(verdict_of(sample.run, Rule::dtype).judgement, Judgement::fail);
}

TEST(Judge, AnEstimatorThatFailsFails) {
  SampleRun sample;
  EstimateObservation& estimate = *sample.add("case", 20, 2000, 20, 2000).estimate;
  estimate.slices_estimated.reset();
  estimate.bytes_estimated.reset();
  estimate.error = "division by zero";
  const std::vector<Verdict> verdicts = judge(sample.run, {});
  EXPECT_EQ(verdict_of(sample.run, Rule::estimator).advice, "the estimator failed: division by zero");
  EXPECT_EQ(verdict_of(sample.run, Rule::estimator).estimator, "own");
  EXPECT_EQ(code_of(sample.run), ExitCode::verdict);
  EXPECT_THAT(headline(sample.run, verdicts), testing::HasSubstr("1 fail (1 estimator)"));
  const auto is_window = [](const Verdict& one) {
    return one.rule == Rule::window_bytes || one.rule == Rule::window_slices;
  };
  EXPECT_TRUE(std::ranges::none_of(verdicts, is_window));

  estimate.error.reset();
  EXPECT_EQ(verdict_of(sample.run, Rule::estimator).advice, "the estimator failed: no answer");
  estimate.slices_estimated = 20;
  estimate.bytes_estimated = 0;
  EXPECT_EQ(verdict_of(sample.run, Rule::estimator).advice, "invalid estimate: 0 bytes");
}

TEST(Judge, TheFigureOfAnotherEstimatorIsNotThatOfOneThatFailed) {
  SampleRun sample;
  Observation& observation = sample.add("case", 20, 2000, 20, 2000);
  EstimateObservation other = *observation.estimate;
  other.estimator = "authors";
  observation.other_estimates.push_back(other);
  observation.estimate->error = "division by zero";
  sample.run.context.planned[0].judged_estimators = {"authors"};
  const std::vector<Verdict> verdicts = judge(sample.run, {});
  EXPECT_EQ(by_case(sample.run, verdicts).front().figure(Rule::window_bytes), std::nullopt);
}

TEST(Judge, OtherEstimatorsAreJudgedWhereTheSuiteNamesThem) {
  SampleRun sample;
  Observation& observation = sample.add("case", 20, 2000, 20, 2000);
  EstimateObservation other = *observation.estimate;
  other.estimator = "authors";
  other.slices_estimated = 12;
  other.bytes_estimated = 3300;
  observation.other_estimates.push_back(other);
  EXPECT_EQ(code_of(sample.run), ExitCode::clean);
  sample.run.context.planned[0].judged_estimators = {"authors"};
  EXPECT_EQ(code_of(sample.run), ExitCode::verdict);
  sample.run.context.planned[0].judged_estimators = {"nobody"};
  EXPECT_EQ(code_of(sample.run), ExitCode::verdict);
}

TEST(Judge, TwoObservationsOfOneCaseAreRefused) {
  SampleRun sample;
  sample.add("case", 20, 2000, 20, 2000);
  sample.run.observations.push_back(sample.run.observations[0]);
  EXPECT_THROW(judge(sample.run, {}), UsageError);
}

TEST(Judge, TheWorseExitCodeWins) {
  EXPECT_EQ(worse(ExitCode::verdict, ExitCode::measurement), ExitCode::measurement);
  EXPECT_EQ(worse(ExitCode::nothing, ExitCode::measurement), ExitCode::nothing);
  EXPECT_EQ(worse(ExitCode::recorder, ExitCode::usage), ExitCode::usage);
  EXPECT_EQ(worse(ExitCode::clean, ExitCode::clean), ExitCode::clean);
}

TEST(Judge, AWindowHasAToleranceInBytes) {
  SampleRun sample;
  sample.add("case", 20, 1'363'150, 20, 1'363'149);
  EXPECT_EQ(code_of(sample.run), ExitCode::verdict) << "a byte too few";
  JudgeOptions options;
  options.window_tolerance = 1;
  const auto verdicts = judge(sample.run, options);
  EXPECT_EQ(exit_code_of(sample.run, verdicts), ExitCode::clean);
  EXPECT_EQ(headline(sample.run, verdicts), "1 case: 0 pass, 1 warning (1 tolerance), 0 fail");
  for (const std::string& text :
       {console_table(sample.run, verdicts, 1000, options), markdown(sample.run, verdicts, options),
        junit(sample.run, verdicts, options)}) {
    EXPECT_THAT(text, testing::HasSubstr("1,363,149 bytes estimated, 1,363,150 needed"));
  }
  EXPECT_THAT(console_table(sample.run, verdicts, 1000, options),
              testing::HasSubstr("window tolerance: 1 B (--window-tolerance)\n"));
  EXPECT_THAT(verdicts_json(sample.run, verdicts, options).dump(2),
              testing::HasSubstr("\"window_tolerance_bytes\": 1"));
  sample.run.observations[0].estimate->bytes_estimated = 1'363'148;
  EXPECT_EQ(exit_code_of(sample.run, judge(sample.run, options)), ExitCode::verdict) << "two bytes too few";

  SampleRun high;
  high.add("case", 20, 799, 20, 1000);
  EXPECT_EQ(exit_code_of(high.run, judge(high.run, options)), ExitCode::clean) << "a byte too many";
  high.run.observations[0].requested_peak_bytes = 798;
  EXPECT_EQ(exit_code_of(high.run, judge(high.run, options)), ExitCode::verdict);
}

}  // namespace
}  // namespace peakmark
