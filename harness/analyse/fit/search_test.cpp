#include "analyse/fit/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Memory = std::function<Size(Size)>;

struct Outcome {
  std::optional<Size> answer;
  std::size_t trials = 0;
  std::size_t refusals = 0;
};

/// Runs a search against a device that refuses what exceeds the budget.
Outcome search(const SearchRange& range, Size budget, const Memory& memory, PredictedBytes formula = {},
               bool is_proof_required = false) {
  LargestValueSearch largest(range, budget, std::move(formula));
  if (is_proof_required) largest.require_proof();
  Outcome outcome;
  while (const std::optional<Size> value = largest.next()) {
    const Size peak = memory(*value);
    const bool fits = peak <= budget;
    outcome.refusals += fits ? 0 : 1;
    largest.add({*value, fits ? std::optional(peak) : std::nullopt, largest.predict(*value)});
    EXPECT_LT(++outcome.trials, 100U);
    if (outcome.trials >= 100) break;
  }
  outcome.answer = largest.largest();
  return outcome;
}

/// Tries every value.
std::optional<Size> exhaustive(const SearchRange& range, Size budget, const Memory& memory) {
  std::optional<Size> answer;
  for (Size value = range.min; value <= range.max; value += range.step) {
    if (memory(value) <= budget) answer = value;
  }
  return answer;
}

constexpr Size kMiB = Size{1} << 20;
constexpr Size kGiB = Size{1} << 30;

// The batch size of a network: weights, gradients and two moments of the optimizer, and activations for each
// sample. torch_em's search needs 2 + 2·⌊log2 1000⌋ = 20 trials for an answer of 1000, and 5 of them run out
// of memory.
TEST(LargestValueSearch, FindsABatchSizeInFourTrialsWithoutRunningOutOfMemory) {
  const Memory memory = [](Size batch) { return 4 * 31'000'000 * Size{4} + batch * 83'886'080; };
  const Size budget = memory(1000) + 1'000'000;
  const Outcome outcome = search({1, 1 << 20, 1}, budget, memory);
  EXPECT_EQ(outcome.answer, 1000);
  EXPECT_LE(outcome.trials, 4U);
  EXPECT_EQ(outcome.refusals, 0U);
}

TEST(LargestValueSearch, FindsAPatchLengthInFourTrials) {
  const Memory square = [](Size length) { return 500'000'000 + 1024 * length * length + 64 * length; };
  const Memory cube = [](Size length) { return 200'000'000 + 384 * length * length * length; };
  for (const Memory& memory : {square, cube}) {
    for (const Size answer : {Size{96}, Size{512}, Size{1008}}) {
      const SearchRange range{16, 4096, 16};
      const Outcome outcome = search(range, memory(answer) + 5, memory);
      EXPECT_EQ(outcome.answer, answer);
      EXPECT_LE(outcome.trials, 4U);
      EXPECT_EQ(outcome.refusals, 0U);
    }
  }
}

// As in UFO's filtered backprojection, images are padded to a power of two for the transform.
TEST(LargestValueSearch, TriesAPowerOfTwoWhereMemoryStepsThere) {
  const auto padded = [](Size n) { return static_cast<Size>(std::bit_ceil(static_cast<std::uint64_t>(n))); };
  const Memory images = [&](Size n) { return 16 * padded(n) * padded(n) + 8 * n; };
  const Memory lines = [&](Size n) { return 4 * n * n + 40 * n * padded(n) + 4 * padded(n); };
  for (const Memory& memory : {images, lines}) {
    for (const Size answer : {64, 256, 512, 4096}) {
      const Outcome outcome = search({16, Size{1} << 20, 1}, 2 * memory(answer), memory, {}, true);
      EXPECT_EQ(outcome.answer, exhaustive({16, 10'000, 1}, 2 * memory(answer), memory));
      EXPECT_LE(outcome.refusals, 5U) << answer;
      EXPECT_LE(outcome.trials, 12U) << answer;
    }
  }
  EXPECT_EQ(search({8, Size{1} << 20, 1}, images(700), images, {}, true).answer, 700);
  EXPECT_EQ(search({6, 6000, 6}, images(513), images, {}, true).answer, 510);
}

TEST(LargestValueSearch, AnswersAnythingBetweenTheSmallestValueAndTheRangesEnd) {
  const Memory memory = [](Size value) { return 1000 + 10 * value; };
  EXPECT_EQ(search({1, 500, 1}, 1009, memory).answer, std::nullopt);
  EXPECT_EQ(search({1, 500, 1}, 1009, memory).trials, 1U);
  EXPECT_EQ(search({1, 500, 1}, 1010, memory).answer, 1);
  EXPECT_EQ(search({1, 500, 1}, 1029, memory).answer, 2);
  EXPECT_EQ(search({1, 500, 1}, 1'000'000, memory).answer, 500);
  EXPECT_EQ(search({7, 7, 1}, 2000, memory).answer, 7);
  EXPECT_EQ(search({32, 4096, 32}, 2000, memory).answer, 96);
}

TEST(LargestValueSearch, WhereTheAxisDoesNotChangeMemoryTheLargestValueFits) {
  const Outcome outcome = search({1, 4096, 1}, kMiB, [](Size) { return kMiB / 2; });
  EXPECT_EQ(outcome.answer, 4096);
  EXPECT_LE(outcome.trials, 4U);
}

TEST(LargestValueSearch, DoesNotJumpFarWherePeaksAreNoFunctionOfTheAxis) {
  std::mt19937_64 random(20261123);
  for (int program = 0; program < 200; ++program) {
    const Memory memory = [&](Size value) {
      return static_cast<Size>(random() % 1000 + 1) * 1000 * std::min(value, Size{1} << 30);
    };
    LargestValueSearch search({1, Size{1} << 40, 1}, 64 * kMiB);
    Size largest = 1;
    std::size_t trials = 0;
    for (; const std::optional<Size> value = search.next(); ++trials) {
      ASSERT_LT(trials, 60U) << "program " << program;
      EXPECT_LE(*value, 16 * largest) << "program " << program;
      const Size bytes = memory(*value);
      search.add({*value, bytes <= 64 * kMiB ? std::optional(bytes) : std::nullopt, std::nullopt});
      if (bytes <= 64 * kMiB) largest = std::max(largest, *value);
    }
    EXPECT_LE(largest, 64 * kMiB / 1000);
  }
  // The peak falls along the axis, so the value is doubled, and the end of the range is not tried.
  LargestValueSearch falling({1, Size{1} << 40, 1}, 1'000'000);
  for (const Size value : {1, 2, 32}) {
    ASSERT_TRUE(falling.next());
    falling.add({value, 900'000 / value, std::nullopt});
  }
  EXPECT_LE(falling.next().value_or(65), 64);
}

// Allocators round sizes, so no formula is exact.
TEST(LargestValueSearch, FindsTheAnswerOfRoundedAllocations) {
  std::mt19937_64 random(20261123);
  std::size_t trials = 0;
  std::size_t refusals = 0;
  std::size_t smaller = 0;
  constexpr int kPrograms = 300;
  for (int program = 0; program < kPrograms; ++program) {
    const Size fixed = static_cast<Size>(random() % (2 * kGiB));
    const Size each = static_cast<Size>(random() % (8 * kMiB)) + 1;
    const Size rounding = random() % 2 == 0 ? 512 : 2 * kMiB;
    const int exponent = static_cast<int>(random() % 3) + 1;
    const Memory memory = [=](Size value) {
      const auto grown = static_cast<Size>(std::llround(std::pow(static_cast<double>(value), exponent)));
      return fixed + divide_up(each * grown, rounding) * rounding;
    };
    const SearchRange range{1, 2000, 1};
    const Size budget = memory(1) + static_cast<Size>(random() % (24 * kGiB));
    const std::optional<Size> expected = exhaustive(range, budget, memory);
    const Outcome outcome = search(range, budget, memory);
    EXPECT_LE(outcome.answer, expected) << program;
    smaller += outcome.answer == expected ? 0 : 1;
    EXPECT_EQ(search(range, budget, memory, {}, true).answer, expected) << program;
    trials += outcome.trials;
    refusals += outcome.refusals;
  }
  RecordProperty("trials", static_cast<int>(trials));
  RecordProperty("refusals", static_cast<int>(refusals));
  RecordProperty("smaller", static_cast<int>(smaller));
  EXPECT_LE(trials, 6U * kPrograms);
  EXPECT_LE(refusals, kPrograms / 4U);
  EXPECT_LE(smaller, kPrograms / 20U);
}

TEST(LargestValueSearch, WithAFormulaOneTrialConfirmsTheAnswer) {
  const Memory memory = [](Size value) { return 4096 + 12 * value * value; };
  const Outcome outcome = search({1, 1 << 16, 1}, kGiB, memory, memory);
  EXPECT_EQ(outcome.answer, exhaustive({1, 1 << 16, 1}, kGiB, memory));
  EXPECT_EQ(outcome.trials, 1U);
  EXPECT_EQ(outcome.refusals, 0U);
}

TEST(LargestValueSearch, CorrectsAFormulaThatMissesAnAllocation) {
  const Memory memory = [](Size value) { return 70'000'000 + 12 * value * value; };
  const PredictedBytes formula = [](Size value) { return std::optional(12 * value * value); };
  const SearchRange range{1, 1 << 16, 1};
  const Outcome outcome = search(range, kGiB, memory, formula);
  EXPECT_EQ(outcome.answer, exhaustive(range, kGiB, memory));
  EXPECT_LE(outcome.trials, 4U);
}

// The formula is linear, but the program changes to an algorithm without temporaries at 300.
TEST(LargestValueSearch, FindsTheLastIntervalOfAFormulaThatIsNotMonotonic) {
  const Memory memory = [](Size value) { return value < 300 ? 40 * value : 25 * value; };
  const SearchRange range{1, 1000, 1};
  EXPECT_EQ(fitting_intervals(range, 10'000, memory), (std::vector<FittingInterval>{{1, 250}, {300, 400}}));
  const Outcome outcome = search(range, 10'000, memory, memory);
  EXPECT_EQ(outcome.answer, 400);
  EXPECT_EQ(outcome.trials, 1U);
}

TEST(LargestValueSearch, NoticesPeaksThatDecrease) {
  LargestValueSearch largest({1, 100, 1}, 1000);
  largest.add({1, 500, std::nullopt});
  largest.add({2, 600, std::nullopt});
  EXPECT_FALSE(largest.is_decreasing_somewhere());
  largest.add({3, 599, std::nullopt});
  EXPECT_TRUE(largest.is_decreasing_somewhere());
}

/// Two images of floats and of bytes, on a device of 1 GiB that allows 256 MiB in one allocation.
TEST(LargestValueSearch, OneAllocationMayBeTheLimit) {
  constexpr Size kBudget = 921 * kMiB;
  constexpr Size kMaxAllocation = 256 * kMiB;
  for (const PredictedBytes& formula : {PredictedBytes{}, PredictedBytes([](Size n) { return 5 * n * n; })}) {
    LargestValueSearch largest({1, Size{1} << 20, 1}, kBudget, formula, kMaxAllocation);
    largest.require_proof();
    std::size_t refusals = 0;
    while (const std::optional<Size> n = largest.next()) {
      const Size image = 4 * *n * *n;
      const bool fits = image <= kMaxAllocation && 5 * *n * *n <= kBudget;
      refusals += fits ? 0 : 1;
      largest.add({.value = *n,
                   .peak_bytes = fits ? std::optional(5 * *n * *n) : std::nullopt,
                   .largest_allocation = image});
    }
    EXPECT_EQ(largest.largest(), 8192);
    EXPECT_LE(refusals, 3U);
    EXPECT_LE(largest.trials().size(), 7U);
    EXPECT_TRUE(exceeds_allocation(largest.trials().back(), kMaxAllocation));
  }
}

TEST(SearchRange, OfAListHasItsValuesUpToTheLargest) {
  SearchRange range{2, 64, 1, {2, 8, 32, 64}};
  EXPECT_EQ(range.count(), 4);
  EXPECT_EQ(range.at(2), 32);
  EXPECT_EQ(range.at_most(31), 8);
  EXPECT_EQ(range.at_most(1), std::nullopt);
  EXPECT_EQ(range.at_most(1000), 64);
  EXPECT_EQ(range.above(8), 32);
  EXPECT_EQ(range.above(64), std::nullopt);
  range.max = 33;
  EXPECT_EQ(range.count(), 3);
  EXPECT_EQ(range.at_most(1000), 32);
  EXPECT_EQ(range.above(32), std::nullopt);
}

// An exhaustive test: the answer is the largest value in the list that fits, and no value outside the list is
// run.
TEST(LargestValueSearch, TriesOnlyTheValuesOfAList) {
  const std::vector<Size> list{1, 2, 3, 5, 8, 16, 17, 100, 256, 1000};
  const SearchRange range{list.front(), list.back(), 1, list};
  for (const bool has_formula : {false, true}) {
    for (const Size limit : {1, 4, 7, 8, 99, 100, 255, 999, 1000, 5000}) {
      const auto bytes = [](Size value) { return 500 + 3 * value * value; };
      const PredictedBytes formula = [&](Size value) { return std::optional(bytes(value)); };
      for (const bool proves : {false, true}) {
        LargestValueSearch search(range, bytes(limit), has_formula ? formula : PredictedBytes());
        if (proves) search.require_proof();
        while (const auto value = search.next()) {
          ASSERT_TRUE(std::ranges::binary_search(list, *value)) << *value;
          ASSERT_LE(search.trials().size(), list.size());
          const bool fits = bytes(*value) <= bytes(limit);
          search.add({.value = *value, .peak_bytes = fits ? std::optional(bytes(*value)) : std::nullopt});
        }
        EXPECT_EQ(search.largest(), *std::prev(std::ranges::upper_bound(list, limit))) << limit;
      }
    }
  }
}

TEST(LargestValueSearch, ProgramsOfRandomMemoryEndTheSearch) {
  std::mt19937_64 random(7);
  for (int program = 0; program < 200; ++program) {
    const Outcome outcome =
        search({1, 1 << 20, 1}, kMiB, [&](Size) { return static_cast<Size>(random() % (2 * kMiB)); });
    EXPECT_LE(outcome.trials, 64U);
  }
}

TEST(LargestValueSearch, RejectsAnEmptyRange) {
  EXPECT_THROW(LargestValueSearch({0, 10, 1}, 1), UsageError);
  EXPECT_THROW(LargestValueSearch({5, 4, 1}, 1), UsageError);
  EXPECT_THROW(LargestValueSearch({1, 4, 0}, 1), UsageError);
  EXPECT_THROW(LargestValueSearch({1, 4, 1}, -1), UsageError);
}

TEST(FittingIntervals, AgreeWithEachValueOfLargeRangesToo) {
  const PredictedBytes steps = [](Size value) {
    return std::optional(value / 1'000'000 % 2 == 0 ? value : 5 * value);
  };
  const SearchRange range{1, 10'000'000, 1};
  const std::vector<FittingInterval> expected = {
      {1, 1'000'000}, {2'000'000, 2'999'999}, {4'000'000, 4'999'999}};
  EXPECT_EQ(fitting_intervals(range, 5'000'000, steps), expected);
  EXPECT_TRUE(fitting_intervals({1, 10, 1}, 5, [](Size) { return std::optional<Size>(); }).empty());
}

TEST(ChunkPlan, CoversTheStack) {
  for (const auto& [slices, chunk] :
       std::vector<std::pair<Size, Size>>{{2160, 77}, {10, 20}, {10, 10}, {11, 10}, {1, 1}}) {
    const ChunkPlan plan = plan_chunks(slices, chunk);
    EXPECT_EQ((plan.chunks - 1) * plan.chunk_slices + plan.last_slices, slices);
    EXPECT_LE(plan.chunk_slices, chunk);
    EXPECT_GT(plan.last_slices, 0);
    EXPECT_LE(plan.last_slices, plan.chunk_slices);
  }
  EXPECT_THROW(plan_chunks(0, 1), UsageError);
}

}  // namespace
}  // namespace peakmark
