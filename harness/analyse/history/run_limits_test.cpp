#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analyse/history/run_order.hpp"

namespace peakmark::history {
namespace {

using testing::ElementsAre;

/// Returns the numbers of the kept runs.
std::vector<std::size_t> kept(const std::vector<std::string_view>& suites, std::size_t max_runs) {
  const std::vector<bool> is_kept = thinned_runs(suites, max_runs);
  std::vector<std::size_t> places;
  for (std::size_t run = 0; run < is_kept.size(); ++run) {
    if (is_kept[run]) places.push_back(run);
  }
  return places;
}

std::vector<std::size_t> kept(std::size_t runs, std::size_t max_runs) {
  return kept(std::vector<std::string_view>(runs, "nightly"), max_runs);
}

TEST(RunLimits, TheNewestHalfAndEveryEighthOfTheOthersAreKept) {
  EXPECT_THAT(kept(8, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(kept(9, 8), ElementsAre(0, 2, 4, 5, 6, 7, 8));
  EXPECT_THAT(kept(30, 8), ElementsAre(0, 8, 16, 24, 26, 27, 28, 29));
  EXPECT_THAT(kept(30, 2), ElementsAre(0, 29));
  EXPECT_TRUE(kept(0, 8).empty());
}

TEST(RunLimits, EachSuiteIsThinnedByItself) {
  // There are three weekly runs among 21 nightly ones. If the suites were not thinned separately, no weekly
  // run would be kept.
  std::vector<std::string_view> suites;
  for (int week = 0; week < 3; ++week) {
    suites.insert(suites.end(), 7, "nightly");
    suites.emplace_back("weekly");
  }
  EXPECT_THAT(kept(suites, 4), ElementsAre(0, 7, 15, 18, 21, 22, 23));
}

TEST(RunLimits, ARunThatIsKeptWasKeptBefore) {
  constexpr std::size_t kMax = 10;
  for (std::size_t runs = 1; runs < 300; ++runs) {
    const std::vector<std::size_t> now = kept(runs, kMax);
    EXPECT_LE(now.size(), kMax);
    EXPECT_GE(now.size(), std::min(runs, kMax / 2 + 2));
    std::vector<std::size_t> known = kept(runs - 1, kMax);
    known.push_back(runs - 1);
    EXPECT_TRUE(std::ranges::includes(known, now)) << runs;
  }
}

}  // namespace
}  // namespace peakmark::history
