#include "measure/statistics/time_change.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "measure/statistics/rank_statistics.hpp"

namespace peakmark {
namespace {

using testing::Eq;
using testing::Gt;
using testing::HasSubstr;
using testing::IsEmpty;

/// Nine blocks around `ns`. The largest and the smallest differ by the fraction `spread` of it.
std::vector<double> blocks(double ns, double spread, std::size_t count = 9) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double place = static_cast<double>(i) / static_cast<double>(count - 1) - 0.5;
    values.push_back(ns * (1 + spread * place));
  }
  return values;
}

TimeVerdict verdict(const std::vector<double>& base, const std::vector<double>& next,
                    Evidence evidence = Evidence::confirmation_pass) {
  const TimeChange change = time_change(base, next);
  return judge_time(change, change.p, evidence);
}

TEST(TimeChange, IsRelativeToTheBase) {
  const TimeChange change = time_change(blocks(1e6, 0.01), blocks(1.1e6, 0.01));
  EXPECT_NEAR(change.relative, 0.1, 1e-12);
  EXPECT_DOUBLE_EQ(change.base_ns, 1e6);
  EXPECT_NEAR(change.new_ns, 1.1e6, 1e-3);
  EXPECT_LT(change.interval->low, 0.1);
  EXPECT_GT(change.interval->high, 0.1);
  EXPECT_DOUBLE_EQ(change.p, 2.0 / 48620);
}

// This is not true of the medians: they estimate something else than the effect.
TEST(TimeChange, TheTwoTimesDifferInTheDirectionOfTheEffect) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> quiet(std::log(1e6), 0.01);
  std::lognormal_distribution<double> noisy(std::log(1.001e6), 0.05);
  const auto sign = [](double value) { return (value > 0) - (value < 0); };
  int medians_contradict = 0;
  for (int pair = 0; pair < 2000; ++pair) {
    std::vector<double> base(9 + pair % 7);
    std::vector<double> next(9 + pair % 5);
    for (double& ns : base) ns = quiet(random);
    for (double& ns : next) ns = pair % 3 == 0 ? noisy(random) : quiet(random);
    const TimeChange change = time_change(base, next);
    EXPECT_EQ(sign(change.new_ns - change.base_ns), sign(change.relative)) << pair;
    EXPECT_NEAR(change.new_ns / change.base_ns - 1, change.relative, 1e-12) << pair;
    medians_contradict += sign(median(next) - median(base)) != sign(change.relative) ? 1 : 0;
  }
  EXPECT_GT(medians_contradict, 100) << "the pairs show nothing";
}

TEST(TimeChange, VerdictsFollowTheDirection) {
  EXPECT_EQ(verdict(blocks(1e6, 0.01), blocks(1.05e6, 0.01)), TimeVerdict::slower);
  EXPECT_EQ(verdict(blocks(1.05e6, 0.01), blocks(1e6, 0.01)), TimeVerdict::faster);
  EXPECT_EQ(verdict(blocks(1e6, 0.01), blocks(1e6, 0.01)), TimeVerdict::same);
}

TEST(TimeChange, ASureButSmallDifferenceIsTheSame) {
  const TimeChange change = time_change(blocks(1e6, 0.002), blocks(1.02e6, 0.002));
  EXPECT_LT(change.p, kSignificance);
  EXPECT_EQ(judge_time(change, change.p, Evidence::confirmation_pass), TimeVerdict::same);
}

TEST(TimeChange, OfThreePercentIsFoundThoughTheEstimateLiesBelow) {
  EXPECT_EQ(verdict(blocks(1e6, 0.02), blocks(1.029e6, 0.02)), TimeVerdict::slower);
}

TEST(TimeChange, SameNeedsEvidence) {
  EXPECT_EQ(verdict(blocks(1e6, 0.3), blocks(1.01e6, 0.3)), TimeVerdict::undecided);
  EXPECT_EQ(verdict(blocks(1e6, 0.01, 8), blocks(1e6, 0.01, 8)), TimeVerdict::undecided) << "8 a side";
  EXPECT_EQ(verdict({1e6}, {1e6}), TimeVerdict::undecided);
}

TEST(TimeChange, FewerThanNineBlocksASideDecideNothing) {
  EXPECT_EQ(verdict(blocks(1e6, 0.01, 8), blocks(2e6, 0.01, 20)), TimeVerdict::undecided);
  EXPECT_EQ(verdict(blocks(1e6, 0.01, 9), blocks(2e6, 0.01, 20)), TimeVerdict::slower);
}

TEST(TimeChange, OfOtherJobsOrOnePassIsAtMostSuspicious) {
  const auto base = blocks(1e6, 0.01);
  EXPECT_EQ(verdict(base, blocks(1.05e6, 0.01), Evidence::one_pass), TimeVerdict::suspicious);
  EXPECT_EQ(verdict(base, base, Evidence::one_pass), TimeVerdict::same);
  EXPECT_EQ(verdict(base, blocks(1.2e6, 0.01), Evidence::not_interleaved), TimeVerdict::suspicious);
  EXPECT_EQ(verdict(base, blocks(0.5e6, 0.01), Evidence::not_interleaved), TimeVerdict::suspicious);
  EXPECT_EQ(verdict(base, blocks(1.1e6, 0.01), Evidence::not_interleaved), TimeVerdict::undecided)
      << "jobs differ by that";
  EXPECT_EQ(verdict(base, base, Evidence::not_interleaved), TimeVerdict::undecided);
}

TEST(TimeChange, FalseDiscoveriesAreHeldBack) {
  const TimeChange change = time_change(blocks(1e6, 0.01), blocks(1.05e6, 0.01));
  EXPECT_EQ(judge_time(change, 0.06, Evidence::confirmation_pass), TimeVerdict::undecided);
}

TEST(TimeChange, BelowTheClockIsNoChange) {
  // 4 % of 5 us are 200 ns.
  const TimeChange change = time_change(blocks(5e3, 0.01), blocks(5.2e3, 0.01));
  EXPECT_DOUBLE_EQ(change.min_effect, 0.1);
  EXPECT_EQ(judge_time(change, change.p, Evidence::confirmation_pass), TimeVerdict::same);
  EXPECT_EQ(verdict(blocks(5e3, 0.01), blocks(6e3, 0.01)), TimeVerdict::slower);
}

TEST(TimeChange, CandidatesAreMoreThanChanges) {
  EXPECT_TRUE(is_candidate(time_change(blocks(1e6, 0.02), blocks(1.02e6, 0.02))));
  EXPECT_FALSE(is_candidate(time_change(blocks(1e6, 0.02), blocks(1.01e6, 0.02)))) << "less than 1.5 %";
  EXPECT_FALSE(is_candidate(time_change(blocks(1e6, 0.5), blocks(1.1e6, 0.5)))) << "noise";
}

TEST(TimeChange, ReportsWhatIsNotATime) {
  const std::vector<double> good{1, 2};
  EXPECT_THAT(time_error(good, good), IsEmpty());
  EXPECT_THAT(time_error({}, good), HasSubstr("the base has no time"));
  EXPECT_THAT(time_error(good, std::vector<double>{1, 0}), HasSubstr("the new has an invalid block of 0 ns"));
  EXPECT_THAT(time_error(good, std::vector<double>{-1}), HasSubstr("block of -1 ns"));
  EXPECT_THAT(time_error(std::vector<double>{std::numeric_limits<double>::quiet_NaN()}, good),
              HasSubstr("nan"));
  EXPECT_THAT(time_error(std::vector<double>{std::numeric_limits<double>::infinity()}, good),
              HasSubstr("inf"));
  EXPECT_THROW(time_change(good, std::vector<double>{0}), std::invalid_argument);
}

TEST(BlocksToDecide, GrowWithTheNoise) {
  const auto few = blocks_to_decide(time_change(blocks(1e6, 0.2), blocks(1e6, 0.2)));
  const auto many = blocks_to_decide(time_change(blocks(1e6, 0.4), blocks(1e6, 0.4)));
  ASSERT_TRUE(few && many);
  EXPECT_THAT(*few, Gt(9U));
  EXPECT_NEAR(static_cast<double>(*many) / static_cast<double>(*few), 4, 0.6);
  EXPECT_THAT(blocks_to_decide(time_change(blocks(1e6, 0.1), blocks(1.03e6, 0.1))), Eq(std::nullopt));
  // Two blocks of the base were disturbed: the interval is beyond the effect, and the rank test is not sure.
  std::vector<double> disturbed = blocks(1e6, 0.01);
  disturbed[0] = disturbed[1] = 2e6;
  const TimeChange change = time_change(disturbed, blocks(1.1e6, 0.01));
  EXPECT_GT(change.p, kSignificance);
  EXPECT_THAT(blocks_to_decide(change), testing::Optional(testing::Ge(14U)));
  const std::vector<double> one{1e6};
  EXPECT_THAT(blocks_to_decide(time_change(one, one)), Eq(kMinBlocks));
}

}  // namespace
}  // namespace peakmark
