#include "measure/compare/run_comparison.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measure/compare/sample_measured_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

TEST(CompareRuns, OneAllocationOf256BytesIsFoundAndNamed) {
  MeasuredRun base;
  base.add("pad/old", 20, 42000);
  MeasuredRun next;
  Observation& grown = next.add("pad/old", 20, 42256);
  grown.at_peak = {{"input", "buffer", 42000}, {"cache", "buffer", 256}};
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::verdict);
  EXPECT_THAT(headline(comparison), StartsWith("1 of 1 case regressed"));
  for (const std::string& text : {comparison_table(comparison), comparison_markdown(comparison)}) {
    EXPECT_THAT(text, HasSubstr("peak grew by 256 B: 42000 -> 42256 B"));
    EXPECT_THAT(text, HasSubstr("added: cache (buffer), 256 B"));
  }
}

TEST(CompareRuns, EqualBytesAreTheSame) {
  MeasuredRun base;
  base.add("pad/old", 20);
  const RunComparison comparison = compare_runs(base.get(), base.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_EQ(headline(comparison), "nothing regressed in 1 case: 1 the same");
}

TEST(CompareRuns, FewerBytesAreReportedAndFailNothing) {
  MeasuredRun base;
  base.add("pad/old", 20, 2000);
  MeasuredRun next;
  next.add("pad/old", 20, 1000);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(headline(comparison), HasSubstr("1 improved"));
}

TEST(CompareRuns, MetricsThatDifferAreShownAndFailNothing) {
  MeasuredRun base;
  base.add("pad/old", 1).metrics = {{"drift", -2}, {"halo", 3}, {"iterations", 12}, {"left", 1}};
  MeasuredRun next;
  Observation& now = next.add("pad/old", 1);
  now.metrics = {{"drift", -1}, {"halo", 3}, {"iterations", 15}, {"zero", 0}};
  now.metric_directions = {{"drift", "higher"}, {"iterations", "lower"}};
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_EQ(headline(comparison), "nothing regressed in 1 case: 1 the same");
  EXPECT_THAT(comparison_table(comparison),
              HasSubstr("metrics that differ\n"
                        "  case                metric      base  new  change\n"
                        "  pad/old/opencl/n:1  drift         -2   -1  +50 %, better\n"
                        "  pad/old/opencl/n:1  iterations    12   15  +25 %, worse\n"
                        "  pad/old/opencl/n:1  left           1    –  –\n"
                        "  pad/old/opencl/n:1  zero           –    0  –\n"));
  EXPECT_THAT(comparison_markdown(comparison), AllOf(HasSubstr("### metrics that differ: 4"),
                                                     HasSubstr("| iterations | 12 | 15 | +25 %, worse |")));
  std::vector<nlohmann::json> rows;
  const auto json = nlohmann::json(comparison_json(comparison));
  for (const auto& row : json["cases"]) {
    if (row["metric"] == "iterations" || row["metric"] == "halo" || row["metric"] == "zero")
      rows.push_back(row);
  }
  ASSERT_THAT(rows, SizeIs(3));
  EXPECT_EQ(rows[0]["verdict"], "same");
  EXPECT_EQ(rows[1]["verdict"], "changed");
  EXPECT_EQ(rows[1]["relative"], 0.25);
  EXPECT_EQ(rows[1]["better"], "lower");
  EXPECT_TRUE(rows[2]["verdict"].is_null());
}

TEST(CompareRuns, TheSuiteSaysHowMuchAPeakMayDiffer) {
  MeasuredRun base;
  base.add("pad/old", 20, 2000);
  const auto compared = [&](Size peak, const char* growth, const char* shrinking) {
    MeasuredRun next;
    PlannedCase planned;
    planned.name = next.add("pad/old", 20, peak).case_name;
    planned.limits.growth = parse_allowance(growth);
    planned.limits.shrinking = parse_allowance(shrinking);
    next.context().planned = {planned};
    return compare_runs(base.get(), next.get(), false);
  };
  const RunComparison allowed = compared(2100, "5 %", "0 %");
  EXPECT_EQ(exit_code_of(allowed), ExitCode::clean);
  EXPECT_THAT(comparison_table(allowed),
              AllOf(HasSubstr("peak grew (allowed)"), HasSubstr("allowed by the suite's allow_growth")));
  EXPECT_EQ(exit_code_of(compared(2101, "5 %", "0 %")), ExitCode::verdict);
  EXPECT_EQ(exit_code_of(compared(1900, "0 %", "5 %")), ExitCode::clean);
  const RunComparison small = compared(1899, "0 %", "5 %");
  EXPECT_EQ(exit_code_of(small), ExitCode::verdict);
  EXPECT_THAT(comparison_table(small), AllOf(HasSubstr("peak shrank (too far)"),
                                             HasSubstr("1899 B; more than the suite's allow_shrinking")));
  EXPECT_EQ(nlohmann::json(comparison_json(small))["cases"][0]["too_small"], true);
}

TEST(CompareRuns, ALeakThatGrewFailsAndSetupIsReported) {
  MeasuredRun base;
  base.add("pad/old", 1);
  base.add("pad/old", 2);
  MeasuredRun next;
  next.add("pad/old", 1).leaked_bytes = 64;
  next.add("pad/old", 2).setup_bytes = 20;
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_TRUE(comparison.cases[0].is_regression());
  EXPECT_FALSE(comparison.cases[1].is_regression());
  EXPECT_EQ(comparison.cases[1].status(), ComparisonStatus::changed);
}

TEST(CompareRuns, APeakThatDoesNotRepeatFailsNothing) {
  MeasuredRun base;
  base.add("pad/old", 1, 1000).second_pass_peak_bytes = 1064;
  MeasuredRun next;
  next.add("pad/old", 1, 1064).second_pass_peak_bytes = 1128;
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(comparison_table(comparison), HasSubstr("the two memory passes of one run differ"));
}

TEST(CompareRuns, WhatIsUnknownIsNoFigure) {
  MeasuredRun base;
  base.add("pad/old", 1).requested_peak_bytes.reset();
  MeasuredRun next;
  next.add("pad/old", 1);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(comparison_table(comparison), HasSubstr("peak: unknown -> 1000 B"));
  const auto json = nlohmann::json(comparison_json(comparison));
  EXPECT_TRUE(json["cases"][0]["base"].is_null());
  EXPECT_TRUE(json["cases"][0]["verdict"].is_null());
}

TEST(CompareRuns, ACaseThatNoLongerGoesWellIsLost) {
  for (const auto& [outcome, code] : {std::pair{Outcome::out_of_memory, ExitCode::verdict},
                                      {Outcome::crashed, ExitCode::measurement},
                                      {Outcome::wrong_answer, ExitCode::measurement},
                                      {Outcome::unsupported, ExitCode::verdict}}) {
    MeasuredRun base;
    base.add("pad/old", 1);
    MeasuredRun next;
    next.add("pad/old", 1).outcome = outcome;
    EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), false)), code) << to_string(outcome);
  }
  MeasuredRun both;
  both.add("pad/old", 1).outcome = Outcome::crashed;
  EXPECT_EQ(exit_code_of(compare_runs(both.get(), both.get(), false)), ExitCode::nothing);
  both.add("pad/old", 2);
  EXPECT_EQ(exit_code_of(compare_runs(both.get(), both.get(), false)), ExitCode::clean) << "nothing new";
}

TEST(CompareRuns, AWorseOutcomeIsARegressionAlsoIfTheBaseWasNotOk) {
  MeasuredRun base;
  base.add("pad/old", 1).outcome = Outcome::out_of_memory;
  MeasuredRun next;
  next.add("pad/old", 1).outcome = Outcome::crashed;
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), false)), ExitCode::measurement);
  EXPECT_EQ(exit_code_of(compare_runs(next.get(), base.get(), false)), ExitCode::nothing) << "less bad";
}

TEST(CompareRuns, AnOutcomeThatTheSuiteExpectsIsNotLost) {
  MeasuredRun base;
  base.add("pad/old", 1);
  base.add("pad/old", 2);
  MeasuredRun next;
  next.add("pad/old", 1).outcome = Outcome::out_of_memory;
  next.add("pad/old", 2);
  PlannedCase planned;
  planned.name = next.run().observations[0].case_name;
  planned.expected_outcome = "out_of_memory";
  next.run().context.planned = {planned};
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_EQ(comparison.cases[0].status(), ComparisonStatus::changed);
}

TEST(CompareRuns, ACaseThatNoSideMeasuredIsSkipped) {
  MeasuredRun base;
  MeasuredRun next;
  for (MeasuredRun* side : {&base, &next}) {
    Observation& one = side->add("pad/a", 1);
    one.outcome = Outcome::unsupported;
    one.message = "no cuFFT here";
    one.requested_peak_bytes = one.second_pass_peak_bytes = one.setup_bytes = one.leaked_bytes = std::nullopt;
  }
  const RunComparison none = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(headline(none), "nothing regressed in 1 case: 1 skipped; nothing was measured");
  EXPECT_EQ(exit_code_of(none), ExitCode::nothing);
  EXPECT_THAT(comparison_table(none), HasSubstr("skipped (unsupported)"));
  EXPECT_THAT(comparison_table(none), HasSubstr("outcome: unsupported on both sides: no cuFFT here"));
  EXPECT_THAT(comparison_markdown(none), StartsWith("**Action needed.** "));
  EXPECT_THAT(comparison_markdown(none), HasSubstr("| skipped (unsupported) |"));
  const auto json = nlohmann::json(comparison_json(none));
  EXPECT_EQ(json.at("exit_code"), 4);
  ASSERT_EQ(json.at("cases").size(), 1U);
  EXPECT_EQ(json.at("cases")[0].at("verdict"), "skipped");
  EXPECT_EQ(json.at("cases")[0].at("message"), "no cuFFT here");

  base.add("pad/a", 2);
  next.add("pad/a", 2);
  const RunComparison some = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(headline(some), "nothing regressed in 2 cases: 1 the same, 1 skipped");
  EXPECT_EQ(exit_code_of(some), ExitCode::clean);
}

TEST(CompareRuns, WhatAnotherDeviceDoesNotSupportIsNotLost) {
  MeasuredRun base;
  base.add("pad/old", 1);
  MeasuredRun next;
  next.run().context.device = "another device";
  next.add("pad/old", 1).outcome = Outcome::unsupported;
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), true)), ExitCode::nothing);
  base.add("pad/old", 2);
  next.add("pad/old", 2);
  const RunComparison comparison = compare_runs(base.get(), next.get(), true);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_EQ(comparison.cases[0].status(), ComparisonStatus::changed);
  next.run().observations[0].outcome = Outcome::out_of_memory;
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), true)), ExitCode::verdict);
}

TEST(CompareRuns, CasesOfOneSideAreNamed) {
  MeasuredRun base;
  base.add("pad/old", 1);
  base.add("pad/old", 2);
  MeasuredRun next;
  next.add("pad/old", 2);
  next.add("pad/old", 3);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_THAT(comparison.only_base, ElementsAre("pad/old/opencl/n:1"));
  EXPECT_THAT(comparison.only_new, ElementsAre("pad/old/opencl/n:3"));
  EXPECT_THAT(comparison_table(comparison), AllOf(HasSubstr("only in the base: 1 case\n  pad/old/opencl/n:1"),
                                                  HasSubstr("only in the new")));
  EXPECT_THAT(headline(comparison), HasSubstr("2 cases only on one side"));
}

TEST(CompareRuns, NothingInCommonIsAMistake) {
  MeasuredRun base;
  base.add("pad/old", 1);
  MeasuredRun next;
  next.add("pad/old", 2);
  EXPECT_THAT(
      [&] { compare_runs(base.get(), next.get(), false); },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("no case in common"), HasSubstr("pad/old/opencl/n:2"))));
}

TEST(CompareRuns, AnotherDeviceDriverOrBuildIsRefused) {
  MeasuredRun base;
  base.add("pad/old", 1);
  for (std::string RunContext::*member : {&RunContext::device, &RunContext::driver, &RunContext::build}) {
    MeasuredRun next;
    next.add("pad/old", 1);
    next.context().*member = "another";
    EXPECT_THAT([&] { compare_runs(base.get(), next.get(), false); },
                ThrowsMessage<UsageError>(HasSubstr("'another'")));
    const RunComparison comparison = compare_runs(base.get(), next.get(), true);
    EXPECT_THAT(comparison.notes, SizeIs(1));
  }
}

TEST(CompareRuns, ADeviceThatItsDriverRenamedDiffersByTheDriverOnly) {
  MeasuredRun base;
  base.context().device = "pthread-skylake-avx512-Intel(R) Xeon(R) Processor";
  base.add("pad/old", 1);
  MeasuredRun next;
  next.context().device = "cpu-skylake-avx512-Intel(R) Xeon(R) Processor";
  next.context().driver = "another";
  next.add("pad/old", 1);
  EXPECT_THAT([&] { compare_runs(base.get(), next.get(), false); },
              ThrowsMessage<UsageError>(
                  AllOf(HasSubstr("driver '1' and 'another'"), testing::Not(HasSubstr("device")))));
}

TEST(CompareRuns, NoGrowthOfALeakIsAllowed) {
  MeasuredRun base;
  base.add("pad/old", 20);
  MeasuredRun next;
  next.add("pad/old", 20).leaked_bytes = 1;
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), false, parse_growth_allowance("64KiB"))),
            ExitCode::verdict);
}

TEST(CompareVariants, AShortNameThatIsUniqueIsEnough) {
  MeasuredRun measured;
  for (const char* const variant :
       {"nabu_padding/2023.1.0", "nabu_padding/2023.2.0", "pad/fast.old", "fft/fast.old"}) {
    measured.add(variant, 20);
  }
  const RunComparison comparison = compare_variants(measured.get(), "2023.1.0", "2023.2.0");
  EXPECT_EQ(comparison.base.variant, "nabu_padding/2023.1.0");
  EXPECT_EQ(comparison.next.variant, "nabu_padding/2023.2.0");
  EXPECT_THAT([&] { compare_variants(measured.get(), "fast.old", "2023.2.0"); },
              ThrowsMessage<UsageError>(HasSubstr("run.json: 'fast.old' is short for several variants: "
                                                  "fft/fast.old, pad/fast.old; write one of them")));
  EXPECT_THAT([&] { compare_variants(measured.get(), "23.2.0", "2023.2.0"); },
              ThrowsMessage<UsageError>(HasSubstr("no measured case of variant '23.2.0'")))
      << "part of a word";
}

TEST(CompareRuns, OfOneDeviceClassCompareBytesAndNoTimes) {
  const auto measured = [](const std::string& device, Size peak) {
    MeasuredRun run;
    run.context().device_class = "hosted-cpu";
    run.context().device = device;
    run.rounds();
    Observation& one = run.add("pad/old", 1, peak);
    one.device = device;
    time(one, 100);
    return run;
  };
  const RunComparison grew =
      compare_runs(measured("cpu-a", 1000).get(), measured("cpu-b", 1256).get(), false);
  EXPECT_EQ(grew.cases[0].find("requested_peak_bytes")->change, Change::grew);
  EXPECT_EQ(exit_code_of(grew), ExitCode::verdict);
  ASSERT_TRUE(grew.cases[0].time);
  EXPECT_EQ(grew.cases[0].time->verdict, TimeVerdict::not_comparable);
  EXPECT_THAT(grew.cases[0].time->advice, AllOf(HasSubstr("on cpu-a"), HasSubstr("on cpu-b")));
  const RunComparison same =
      compare_runs(measured("cpu-a", 1000).get(), measured("cpu-a", 1000).get(), false);
  EXPECT_NE(same.cases[0].time->verdict, TimeVerdict::not_comparable);

  MeasuredRun unfiled;
  unfiled.add("pad/old", 1);
  EXPECT_THAT([&] { compare_runs(unfiled.get(), measured("cpu-a", 1000).get(), false); },
              ThrowsMessage<UsageError>(HasSubstr("'a device' and 'hosted-cpu'")));
}

TEST(CompareRuns, AnotherVersionIsANewSeries) {
  MeasuredRun base;
  base.add("pad/old", 1);
  base.add("pad/same", 1);
  MeasuredRun next;
  next.add("pad/old", 1, 9000).version = 2;
  next.add("pad/same", 1);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_THAT(comparison.notes, ElementsAre("pad/old: version 1 → 2: a new series, not compared"));
  EXPECT_THAT(comparison.only_new, ElementsAre("pad/old/opencl/n:1"));
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(comparison_table(comparison), HasSubstr("a new series"));
  base.run().observations.pop_back();
  next.run().observations.pop_back();
  EXPECT_EQ(exit_code_of(compare_runs(base.get(), next.get(), false)), ExitCode::nothing);
}

}  // namespace
}  // namespace peakmark
