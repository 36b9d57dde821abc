// Times of two runs, and of two variants in one run: measured in rounds, in two passes, or in two jobs.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measure/compare/sample_measured_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

TEST(CompareRuns, TimesOfTwoJobsEndAtSuspicious) {
  MeasuredRun base;
  time(base.add("pad/old", 1), 1e6);
  time(base.add("pad/old", 2), 1e6);
  MeasuredRun next;
  time(next.add("pad/old", 1), 2e6);
  time(next.add("pad/old", 2), 1.1e6);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::suspicious);
  EXPECT_EQ(comparison.cases[1].time->verdict, TimeVerdict::undecided) << "jobs differ by that";
  EXPECT_EQ(exit_code_of(comparison), ExitCode::clean);
  EXPECT_THAT(comparison_table(comparison),
              AllOf(HasSubstr("sides not interleaved"), HasSubstr("--build OTHER")));
}

TEST(CompareRuns, ThroughputIsReportedWithTimes) {
  MeasuredRun base;
  time(base.add("pad/old", 1), 1e6);
  EXPECT_THAT(comparison_table(compare_runs(base.get(), base.get(), false)), Not(HasSubstr("GB/s")));
  base.run().observations[0].bytes_moved = 1'500'000;
  const RunComparison comparison = compare_runs(base.get(), base.get(), false);
  for (const std::string& text : {comparison_table(comparison), comparison_markdown(comparison)}) {
    EXPECT_THAT(text, AllOf(HasSubstr("GB/s"), HasSubstr("1.493 -> 1.493"))) << "the median is 1.005 ms";
  }
  EXPECT_THAT(comparison_json(comparison).dump(), HasSubstr("base_throughput"));
}

TEST(CompareRuns, TwoInterleavedBuildsAreJudgedByTheConfirmation) {
  MeasuredRun base;
  MeasuredRun next;
  base.rounds(true, {{"pad/old/opencl/n:1"}});
  next.rounds(true, {{"pad/old/opencl/n:1"}});
  next.context().id = "two";
  for (MeasuredRun* side : {&base, &next}) {
    const double ns = side == &base ? 1e6 : 1.1e6;
    time(side->add("pad/old", 1), ns);
    time(side->run().observations[0], ns, kRounds + 1);
    time(side->add("pad/old", 2), 1e6);
  }
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_TRUE(comparison.interleaved);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::slower);
  EXPECT_EQ(comparison.cases[0].time->pass, 2);
  EXPECT_EQ(comparison.cases[1].time->verdict, TimeVerdict::same);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::verdict);
}

TEST(CompareRuns, WithoutTimesThereIsNoVerdictOnThem) {
  MeasuredRun base;
  base.add("pad/old", 1);
  EXPECT_FALSE(compare_runs(base.get(), base.get(), false).cases[0].time);
  MeasuredRun next;
  time(next.add("pad/old", 1), 1e6);
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::undecided);
  EXPECT_THAT(comparison.cases[0].time->advice, HasSubstr("the base has no time"));
}

TEST(CompareVariants, OnlyTheConfirmationCounts) {
  MeasuredRun measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.run().observations[0], 1e6, kRounds + 1);
  time(measured.add("pad/new", 1), 1.2e6);
  time(measured.run().observations[1], 1e6, kRounds + 1);
  measured.rounds(true, {{"pad/old/opencl/n:1", "pad/new/opencl/n:1"}});
  measured.context().rounds->variants = {"pad/old", "pad/new"};
  const RunComparison comparison = compare_sample_variants(measured);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::same) << "20 % slower in the screening pass only";
  EXPECT_EQ(comparison.cases[0].time->change->base_blocks, 9U);
}

TEST(CompareVariants, WithoutAConfirmationADifferenceIsSuspicious) {
  MeasuredRun measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.rounds(false);
  EXPECT_EQ(compare_sample_variants(measured).cases[0].time->verdict, TimeVerdict::suspicious);
  measured.rounds(true);
  measured.context().rounds->variants = {"pad/old", "pad/new"};
  EXPECT_THAT(compare_sample_variants(measured).cases[0].time->advice, HasSubstr("--resume"))
      << "stopped between the passes";
}

TEST(CompareVariants, AnIncompleteConfirmationDecidesNothing) {
  MeasuredRun measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.rounds(true, {{"pad/old/opencl/n:1", "pad/new/opencl/n:1"}});
  measured.context().rounds->variants = {"pad/old", "pad/new"};
  const RunComparison none = compare_sample_variants(measured);
  EXPECT_EQ(none.cases[0].time->verdict, TimeVerdict::undecided);
  EXPECT_THAT(none.cases[0].time->advice, HasSubstr("--resume"));
}

TEST(CompareVariants, AConfirmationOfOtherCasesDecidesNothing) {
  MeasuredRun measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.rounds(true, {{"pad/a", "pad/b"}});
  measured.context().rounds->variants = {"pad/a", "pad/b"};
  EXPECT_EQ(compare_sample_variants(measured).cases[0].time->verdict, TimeVerdict::suspicious);
}

TEST(CompareVariants, AVariantThatIsNotThereIsAMistake) {
  MeasuredRun measured;
  measured.add("pad/old", 1);
  EXPECT_THAT([&] { compare_sample_variants(measured); },
              ThrowsMessage<UsageError>(
                  AllOf(HasSubstr("no measured case of variant 'pad/new'"), HasSubstr("pad/old"))));
}

TEST(CompareVariants, BlocksThatAreNoTimesDecideNothing) {
  MeasuredRun measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1e6);
  measured.run().observations[1].gpu_time->blocks[3] = {0};
  measured.rounds(false);
  const RunComparison comparison = compare_sample_variants(measured);
  EXPECT_EQ(comparison.cases[0].time->verdict, TimeVerdict::undecided);
  EXPECT_THAT(comparison.cases[0].time->advice, HasSubstr("0 ns"));
  EXPECT_THAT(comparison_json(comparison).dump(), Not(HasSubstr("nan")));
}

TEST(CompareVariants, TimesOfOtherClocksAreNotCompared) {
  MeasuredRun measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1), 1.2e6);
  measured.run().observations[1].time_source = time_source::process;
  measured.rounds(false);
  EXPECT_THAT(compare_sample_variants(measured).cases[0].time->advice,
              HasSubstr("base device, hot, median; new process, hot, median"));
}

}  // namespace
}  // namespace peakmark
