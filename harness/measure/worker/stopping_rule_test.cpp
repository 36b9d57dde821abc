#include "measure/worker/stopping_rule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace peakmark {
namespace {

std::size_t blocks_until_done(StoppingRule& rule, const std::vector<double>& block, double cost_ns) {
  std::size_t blocks = 0;
  while (!rule.done() && blocks < 100000) {
    rule.add(block, cost_ns);
    ++blocks;
  }
  return blocks;
}

TEST(StoppingRule, SteadyBlocksStopAtTheMinimum) {
  StoppingRule rule({});
  EXPECT_EQ(blocks_until_done(rule, {100, 101}, 200), 9U);
}

TEST(StoppingRule, BlocksOfOneSampleGoOnToTenSamples) {
  StoppingRule rule({});
  EXPECT_EQ(blocks_until_done(rule, {100}, 100), 10U);
}

TEST(StoppingRule, NoiseGoesOnToTheBudgetAndNoFurther) {
  StoppingOptions options;
  options.budget_ns = 1000;
  options.max_blocks = 1000;
  StoppingRule rule(options);
  std::mt19937 random(7);
  std::lognormal_distribution<double> noise(0, 0.5);
  std::size_t blocks = 0;
  while (!rule.done()) {
    rule.add(std::vector<double>{100 * noise(random)}, 25);
    ++blocks;
  }
  EXPECT_EQ(blocks, 40U);
  EXPECT_GT(rule.relative_spread(), options.relative_spread);
}

TEST(StoppingRule, ACaseTooSlowForTheLeastNumberEndsAtTheLimit) {
  StoppingOptions options;
  options.limit_ns = 3e9;
  StoppingRule rule(options);
  EXPECT_EQ(blocks_until_done(rule, {1e9}, 1e9), 3U);
}

TEST(StoppingRule, OneWildBlockDoesNotKeepItGoing) {
  StoppingRule rule({});
  rule.add(std::vector<double>{5000}, 100);
  EXPECT_EQ(blocks_until_done(rule, {100, 100}, 100), 8U);
}

TEST(StoppingRule, StopsAtTheMaxNumberOfBlocks) {
  StoppingOptions options;
  options.max_blocks = 12;
  options.relative_spread = -1;
  StoppingRule rule(options);
  EXPECT_EQ(blocks_until_done(rule, {1, 2}, 0), 12U);
}

TEST(StoppingRule, SpreadIsUnknownBeforeTwoBlocks) {
  StoppingRule rule({});
  EXPECT_TRUE(std::isinf(rule.relative_spread()));
  rule.add(std::vector<double>{1}, 1);
  EXPECT_TRUE(std::isinf(rule.relative_spread()));
}

TEST(BlockPlan, ShortCallsAreGroupedToSamplesOfAHundredMicroseconds) {
  const BlockPlan plan = plan_blocks(3e3, kMinCpuSampleNs, {});
  EXPECT_EQ(plan.calls, 34);
  EXPECT_GE(3e3 * static_cast<double>(plan.calls), 100e3);
}

TEST(BlockPlan, SamplesOfAGpuLastAMillisecond) {
  EXPECT_GE(3e3 * static_cast<double>(plan_blocks(3e3, kMinGpuSampleNs, {}).calls), 1e6);
}

TEST(BlockPlan, CallsTimedAloneAreASampleEach) {
  EXPECT_EQ(plan_blocks(3e3, 0, {}).calls, 1);
  EXPECT_EQ(plan_blocks(3e3, 0, {}).samples, 5);
  EXPECT_EQ(plan_blocks(6e6, 0, {}).samples, 2) << "a twentieth of the budget";
}

TEST(BlockPlan, LongCallsAreTimedAlone) {
  const BlockPlan plan = plan_blocks(50e6, kMinCpuSampleNs, {});
  EXPECT_EQ(plan.calls, 1);
  EXPECT_EQ(plan.samples, 1);
}

TEST(BlockPlan, ACallWithoutMeasurableTimeIsBounded) {
  const BlockPlan plan = plan_blocks(0, kMinCpuSampleNs, {});
  EXPECT_EQ(plan.calls, 1000);
  EXPECT_LE(plan.samples, 5);
}

}  // namespace
}  // namespace peakmark
