#include "analyse/trend/branches.hpp"

#include <gmock/gmock.h>

#include "analyse/trend/sample_trends.hpp"

namespace peakmark::trend {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string commit(int number) {
  return std::string(40, static_cast<char>('0' + number));
}

/// Five runs: main at the commits 1, 2, 4, and two of a branch from commit 3, which was not measured.
class Branches : public testing::Test {
 protected:
  Branches() : history_(nightly_history(5)) {
    const std::vector<std::pair<std::string, std::string>> runs{{"main", commit(1)},
                                                                {"", commit(2)},
                                                                {"topic", commit(7)},
                                                                {"main", commit(4)},
                                                                {"topic", commit(8)}};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      history_.runs[i].branch = runs[i].first;
      history_.runs[i].commit = runs[i].second;
      if (runs[i].first == "topic") history_.runs[i].base_commits = {commit(3), commit(2), commit(1)};
    }
    history_.series = {{"a/b/dry", "requested_peak_bytes", {10.0, 10.0, 30.0, 20.0, 10.0}, {}, {}},
                       {"a/c/dry", "requested_peak_bytes", {{}, {}, {}, 5.0, {}}, {}, {}}};
    history_.outcomes = {{"a/b/dry", {"ok", "ok", "ok", "ok", "ok"}}, {"a/c/dry", {{}, {}, {}, "ok", {}}}};
  }
  [[nodiscard]] DeviceHistory compared() const { return compare_with_base(history_, "topic", "main"); }
  static std::vector<std::string> ids(const DeviceHistory& history) {
    std::vector<std::string> all;
    for (const HistoryRun& run : history.runs) all.push_back(run.id);
    return all;
  }

  DeviceHistory history_;
};

TEST_F(Branches, TheNearestMeasuredCommitBeforeTheMergeBaseIsTheBase) {
  const DeviceHistory one = compared();
  EXPECT_THAT(ids(one), ElementsAre("run0", "run1", "run4"));
  ASSERT_THAT(one.base_runs, SizeIs(1));
  EXPECT_EQ(one.base_runs[0].run, 1U);
  EXPECT_EQ(one.base_runs[0].older, 1U);
  EXPECT_EQ(one.first_of_branch(), 2U);
  EXPECT_EQ(
      to_text(one.base_runs[0], one),
      "suite nightly of topic (888888888888) against main at 222222222222, 1 commit before its merge base "
      "333333333333, which was not measured");
  ASSERT_THAT(one.series, SizeIs(1)) << "what only main has since is left out";
  EXPECT_THAT(one.series[0].values, ElementsAre(10.0, 10.0, 10.0));
  EXPECT_THAT(one.outcomes, SizeIs(1));
}

TEST_F(Branches, TheMergeBaseItselfIsTheBaseOnceItIsMeasured) {
  history_.runs[3].commit = commit(3).substr(0, 12);
  const DeviceHistory one = compared();
  EXPECT_THAT(ids(one), ElementsAre("run0", "run1", "run3", "run4"));
  EXPECT_THAT(to_text(one.base_runs[0], one), HasSubstr("against main at its merge base 333333333333"));
  history_.runs[3].commit = commit(3) + "+";
  EXPECT_THAT(ids(compared()), ElementsAre("run0", "run1", "run4")) << "modified sources";
}

TEST_F(Branches, TheLastRunIsTheBranchsWhateverTheClocksSay) {
  history_.runs[4].date = "2001-01-01T00:00:00Z";
  EXPECT_THAT(ids(compared()), ElementsAre("run0", "run1", "run4"));
  history_.runs[4].base_commits.clear();
  EXPECT_THAT(ids(compared()), ElementsAre("run0", "run1", "run3", "run4")) << "the newest of main before it";
}

TEST_F(Branches, WithoutAMergeBaseItIsTheNewestRunBefore) {
  history_.runs[4].base_commits.clear();
  DeviceHistory one = compared();
  EXPECT_THAT(ids(one), ElementsAre("run0", "run1", "run3", "run4"));
  EXPECT_THAT(
      to_text(one.base_runs[0], one),
      HasSubstr("at its newest run before, of 2026-01-04 (444444444444): the merge base is not known"));
  history_.runs[4].base_commits = {commit(9)};
  one = compared();
  EXPECT_THAT(to_text(one.base_runs[0], one),
              HasSubstr("neither the merge base 999999999999 nor a known commit before it was measured"));
}

TEST_F(Branches, AnotherSuiteIsNoBase) {
  for (const std::size_t run : {0, 1, 3}) history_.runs[run].suite = "weekly";
  const DeviceHistory one = compared();
  EXPECT_THAT(ids(one), ElementsAre("run4"));
  EXPECT_EQ(to_text(one.base_runs[0], one),
            "suite nightly of topic (888888888888) is not compared: main has no run of this suite before it");
}

TEST_F(Branches, SuitesThatTheBranchDoesNotHaveAreLeftOut) {
  history_.runs[0].suite = "weekly";
  EXPECT_THAT(ids(compared()), ElementsAre("run1", "run4"));
}

TEST_F(Branches, OnlyItsOwnChangesAreTheBranchs) {
  // Main grew with run 1 and is open; the branch grows by 5 more.
  history_.series[0].values = {10.0, 20.0, 30.0, 20.0, 25.0};
  const DeviceHistory one = compared();
  const Trends trends = find_trends(one);
  ASSERT_THAT(trends.changes, SizeIs(1));
  EXPECT_EQ(trends.changes[0].before, 20);
  EXPECT_EQ(trends.changes[0].after, 25);
  EXPECT_TRUE(trends.changes[0].is_news);
  history_.series[0].values = {10.0, 20.0, 30.0, 20.0, 20.0};
  EXPECT_THAT(find_trends(compared()).changes, SizeIs(0)) << "the branch changed nothing";
}

TEST_F(Branches, ABranchWithoutRunsHasNone) {
  EXPECT_THAT(compare_with_base(history_, "other", "main").base_runs, SizeIs(0));
}

TEST(SameCommit, IsTheSameOrItsBeginning) {
  EXPECT_TRUE(is_same_commit(commit(1), commit(1)));
  EXPECT_TRUE(is_same_commit(commit(1).substr(0, 7), commit(1)));
  EXPECT_FALSE(is_same_commit(commit(1).substr(0, 6), commit(1)));
  EXPECT_FALSE(is_same_commit("", ""));
  EXPECT_FALSE(is_same_commit(commit(1), commit(1) + "+"));
}

}  // namespace
}  // namespace peakmark::trend
