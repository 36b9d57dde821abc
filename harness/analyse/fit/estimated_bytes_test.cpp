#include "analyse/fit/estimated_bytes.hpp"

#include <gtest/gtest.h>

namespace peakmark {
namespace {

/// Counts how often an estimator is asked, and for how many values.
struct Asked {
  std::size_t batches = 0;
  std::size_t values = 0;

  EstimatedBytes::Ask asking(std::function<std::optional<Size>(Size)> bytes) {
    return [this, bytes = std::move(bytes)](const std::vector<Size>& values_asked) {
      ++batches;
      values += values_asked.size();
      std::vector<std::optional<Size>> answers;
      answers.reserve(values_asked.size());
      for (const Size value : values_asked) answers.push_back(bytes(value));
      return answers;
    };
  }
};

TEST(EstimatedBytesTest, AreExactWhereTheyCrossTheBudget) {
  Asked asked;
  const SearchRange range{1, Size{1} << 40, 1};
  const auto cube = [](Size value) {
    return value > 1'000'000 ? std::optional<Size>() : std::optional(7 + value * value * value);
  };
  const EstimatedBytes estimated(range, 1'000'000'000, asked.asking(cube));
  EXPECT_EQ(estimated(999), 7 + 999 * 999 * 999);
  EXPECT_EQ(estimated(1000), 1'000'000'007);
  EXPECT_EQ(fitting_intervals(range, 1'000'000'000, [&](Size value) { return estimated(value); }),
            (std::vector<FittingInterval>{{1, 999}}));
  EXPECT_LE(asked.batches, 3U);
  EXPECT_LE(asked.values, 6000U);
  // Between the values that were asked, the result is a line, which is above a convex curve.
  EXPECT_GE(*estimated(300'001), Size{300'001} * 300'001 * 300'001);
  EXPECT_EQ(estimated(2'000'000), std::nullopt);
  EXPECT_EQ(estimated(0), std::nullopt);
}

TEST(EstimatedBytesTest, HaveAGapIfTheNextAnswerIsMissing) {
  const SearchRange range{1, 1000, 1};
  const auto gap = [&](const std::function<std::optional<Size>(Size)>& bytes) {
    Asked asked;
    return EstimatedBytes(range, 500, asked.asking(bytes)).gap_above();
  };
  const auto known_at = [](Size step, Size last) {
    return
        [=](Size value) { return value % step == 0 && value <= last ? std::optional(value) : std::nullopt; };
  };
  EXPECT_EQ(gap(known_at(1, 1000)), std::nullopt);
  EXPECT_EQ(gap(known_at(1, 501)), std::nullopt) << "501 does not fit";
  EXPECT_EQ(gap(known_at(1, 400)), 401);
  EXPECT_EQ(gap(known_at(2, 1000)), 501);
  EXPECT_EQ(gap(known_at(2000, 1000)), 1) << "no answer at all";
  EXPECT_EQ(gap([](Size value) { return std::optional(value / 1000); }), std::nullopt) << "all fit";
}

TEST(EstimatedBytesTest, FindTheLargestValueOfEvenChunks) {
  // Chunks have at most 64 slices and are as equal as possible: the bytes decrease where a chunk is added.
  const auto chunked = [](Size value) { return 10 * value + 1000 * divide_up(value, divide_up(value, 64)); };
  Asked asked;
  const SearchRange range{1, Size{1} << 40, 1};
  for (const Size budget : {70'000, 75'000, 100'000}) {
    Size largest = 0;
    for (Size value = 1; value < 20'000; ++value) largest = chunked(value) <= budget ? value : largest;
    const EstimatedBytes estimated(range, budget, asked.asking(chunked));
    const auto intervals =
        fitting_intervals({1, 20'000, 1}, budget, [&](Size value) { return estimated(value); });
    EXPECT_EQ(intervals.back().last, largest) << budget;
    EXPECT_GT(intervals.size(), 1U) << budget;
  }
}

TEST(EstimatedBytesTest, FindAllCrossingsThatPowersOfTwoShow) {
  Asked asked;
  const SearchRange range{1, 4000, 1};
  const auto switching = [](Size value) { return value <= 300 ? 100 * value : 10 * value; };
  const EstimatedBytes estimated(range, 20'000, asked.asking(switching));
  EXPECT_EQ(fitting_intervals(range, 20'000, [&](Size value) { return estimated(value); }),
            (std::vector<FittingInterval>{{1, 200}, {301, 2000}}));
}

TEST(EstimatedBytesTest, TakeOnlyMultiples) {
  Asked asked;
  const SearchRange range{16, 160, 16};
  const EstimatedBytes estimated(range, 70, asked.asking([](Size value) {
    EXPECT_EQ(value % 16, 0);
    return std::optional(value);
  }));
  EXPECT_EQ(estimated(64), 64);
  EXPECT_EQ(estimated(160), 160);
}

}  // namespace
}  // namespace peakmark
