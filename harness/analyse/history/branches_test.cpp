// Tests of branches and pull requests beside the base branch, on both databases.
#include <gmock/gmock.h>

#include "analyse/history/sample_runs.hpp"
#include "analyse/history/test_databases.hpp"
#include "analyse/trend/pruning.hpp"
#include "analyse/trend/trends.hpp"

namespace peakmark::history {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HistoryBranches : public OnBothDatabases {
 protected:
  /// Adds the runs 1 to 3 of main, with the commits 111…, 222… and 333…, which need 1 MiB.
  void add_base() const {
    for (int day = 1; day <= 3; ++day) open().add(run(day, commit(day)), {"main", "main", {}});
  }
  static std::string commit(int number) { return std::string(40, static_cast<char>('0' + number)); }
  static peakmark::Run run(int day, const std::string& commit, Size mib = 1) {
    peakmark::Run run = sample_history_run(day, mib).run;
    run.context.commit = commit;
    return run;
  }
  static RunOrigin pull_request(const std::vector<std::string>& base_commits) {
    return {"pull/7", "main", base_commits};
  }
  static std::vector<std::string> run_ids(const trend::DeviceHistory& device) {
    std::vector<std::string> ids;
    for (const trend::HistoryRun& one : device.runs) ids.push_back(one.id);
    return ids;
  }
};

INSTANTIATE_TEST_SUITE_P(, HistoryBranches, testing::Values(Address::Kind::sqlite, Address::Kind::postgresql),
                         kind_name);

TEST_P(HistoryBranches, TrendsFollowTheBaseBranch) {
  add_base();
  EXPECT_EQ(open().settings().base_branch, "main");
  const Added added = open().add(run(4, commit(4), 3), pull_request({commit(2), commit(1)}));
  EXPECT_FALSE(added.is_of_base);
  EXPECT_EQ(added.runs_of_device, 1) << "of its branch";
  const auto base = open_to_read().read();
  ASSERT_EQ(base.size(), 1U);
  EXPECT_THAT(run_ids(base[0]), ElementsAre("run-01", "run-02", "run-03"));
  EXPECT_EQ(values_of(base[0], "op/b/opencl/n:2", "requested_peak_bytes").size(), 3U);
  EXPECT_THAT(open_to_read().latest(), ElementsAre("run-03"));
  EXPECT_EQ(open_to_read().log()[3].branch, "pull/7");
  EXPECT_EQ(open().add(run(5, commit(5)), {"main", "main", {}}).runs_of_device, 4);
}

TEST_P(HistoryBranches, APullRequestIsComparedWithItsMergeBase) {
  add_base();
  open().add(run(4, commit(4), 3), pull_request({commit(2), commit(1)}));
  const auto compared = open_to_read().read("pull/7");
  ASSERT_EQ(compared.size(), 1U);
  EXPECT_THAT(run_ids(compared[0]), ElementsAre("run-01", "run-02", "run-04")) << "not what came later";
  const trend::Trends trends = trend::find_trends(compared[0]);
  ASSERT_EQ(trends.changes.size(), 1U);
  EXPECT_EQ(trends.changes[0].after, 6 * kMiB);
  EXPECT_TRUE(trend::has_open_regression(trends));
  EXPECT_THAT(message_of([&] { open_to_read().read("pull/8"); }), HasSubstr("no run of branch 'pull/8'"));
}

TEST_P(HistoryBranches, AForcePushLeavesTheNewestRun) {
  add_base();
  open().add(run(5, commit(4), 3), pull_request({commit(2)}));
  // This run is added later, by a machine whose clock is two days behind.
  peakmark::Run pushed = run(3, commit(6), 1);
  pushed.context.id = "pushed";
  open().add(pushed, pull_request({commit(3), commit(2)}));
  const auto compared = open_to_read().read("pull/7");
  EXPECT_THAT(run_ids(compared.at(0)), ElementsAre("run-01", "run-02", "run-03", "pushed"));
  EXPECT_FALSE(trend::has_open_regression(trend::find_trends(compared[0])));
}

// A job of last month is repeated today.
TEST_P(HistoryBranches, ARunOfAnOlderCommitIsPlacedByItsCommit) {
  const auto add = [&](int day, int number, Size mib, const std::vector<std::string>& first_parents) {
    return open().add(run(day, commit(number), mib), {"main", "main", first_parents});
  };
  add(1, 1, 1, {commit(1)});
  add(2, 3, 2, {commit(3), commit(2), commit(1)});
  add(3, 5, 2, {commit(5), commit(4), commit(3), commit(2), commit(1)});
  const Added old = add(4, 2, 1, {commit(2), commit(1)});
  EXPECT_THAT(old.notes, ElementsAre(HasSubstr("its commit 222222222222 is older than that of run run-02 "
                                               "(333333333333): it is placed before that run")));
  add(5, 1, 1, {commit(1)});
  const auto base = open_to_read().read();
  EXPECT_THAT(run_ids(base.at(0)), ElementsAre("run-01", "run-05", "run-04", "run-02", "run-03"));
  EXPECT_THAT(open_to_read().latest(), ElementsAre("run-03"));
  EXPECT_TRUE(trend::has_open_regression(trend::find_trends(base[0]))) << "it is no recovery";
  add(6, 4, 2, {});
  add(7, 9, 2, {commit(9), commit(8)});  // a force-push
  EXPECT_THAT(run_ids(open_to_read().read().at(0)),
              ElementsAre("run-01", "run-05", "run-04", "run-02", "run-06", "run-03", "run-07"));
}

TEST_P(HistoryBranches, RunsWithoutABranchAreOfTheBase) {
  open().add(run(1, commit(1)));
  EXPECT_EQ(open().settings().base_branch, "") << "nothing is known";
  const Added added = open().add(run(2, commit(2)), pull_request({commit(1)}));
  EXPECT_THAT(added.notes, ElementsAre(HasSubstr("the base branch of this history is 'main'")));
  EXPECT_THAT(run_ids(open_to_read().read().at(0)), ElementsAre("run-01"));
  EXPECT_THAT(run_ids(open_to_read().read("pull/7").at(0)), ElementsAre("run-01", "run-02"));
  Settings settings = open().settings();
  settings.base_branch = "pull/7";
  settings.commit_url = "https://example.org/{commit}";
  open().set(settings);
  EXPECT_THAT(run_ids(open_to_read().read().at(0)), ElementsAre("run-01", "run-02"));
  EXPECT_EQ(open_to_read().settings().commit_url, settings.commit_url);
}

TEST_P(HistoryBranches, TheSameRunOfTwoTasksIsAddedOnce) {
  add_base();
  const peakmark::Run one = run(4, commit(4), 3);
  EXPECT_FALSE(open().add(one, pull_request({commit(2)})).was_there);
  const Added again = open().add(one, pull_request({commit(2)}));
  EXPECT_TRUE(again.was_there);
  EXPECT_EQ(again.branch, "pull/7");
  EXPECT_EQ(again.runs_of_device, 1);
}

TEST_P(HistoryBranches, AbandonedBranchesArePruned) {
  add_base();
  open().add(run(4, commit(4), 3), pull_request({commit(2)}));
  open().add(run(9, commit(9), 3), {"pull/9", "main", {commit(3)}});
  const RunsToKeep none = [](const trend::DeviceHistory&) { return std::set<std::string>{}; };
  const Pruned old =
      open().prune({.date = "2026-01-05T00:00:00Z", .branches_only = true, .branch = {}}, none);
  EXPECT_THAT(old.runs, ElementsAre("run-04"));
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-02", "run-03", "run-09"));
  EXPECT_THAT(message_of([&] { open().prune({.date = {}, .branch = "main"}, none); }),
              HasSubstr("'main' is the base branch"));
  EXPECT_THAT(message_of([&] { open().prune({.date = {}, .branch = "pull/4"}, none); }),
              HasSubstr("no run of branch 'pull/4'"));
  EXPECT_THAT(open().prune({.date = {}, .branch = "pull/9"}, none).runs, ElementsAre("run-09"));
  EXPECT_THAT(ids_of(open()), ElementsAre("run-01", "run-02", "run-03"));
  open().add(run(4, commit(4), 3), pull_request({commit(2)}));
  const RunsToKeep keep_all = [](const trend::DeviceHistory& device) {
    std::set<std::string> ids;
    for (const trend::HistoryRun& one : device.runs) ids.insert(one.id);
    return ids;
  };
  EXPECT_THAT(open().prune({.date = "2026-02-01T00:00:00Z", .branch = {}}, keep_all).runs,
              ElementsAre("run-04"))
      << "what the base branch needs stays";
}

TEST_P(HistoryBranches, WhatWasSentIsKept) {
  add_base();
  using trend::NotifiedState;
  const trend::Notified sending{"op/a/opencl", "gpu_time_ns", "run-02", "abc", NotifiedState::opening, "now"};
  trend::Notified sent = sending;
  sent.state = NotifiedState::open;
  EXPECT_TRUE(open().update_notified({}, {sending}));
  EXPECT_FALSE(open().update_notified({}, {sending})) << "another process sends it";
  EXPECT_TRUE(open().update_notified({sending}, {sent}));
  EXPECT_THAT(open_to_read().notified(), ElementsAre(sent));
  trend::Notified removed = sent;
  removed.state.reset();
  EXPECT_TRUE(open().update_notified({sent}, {removed}));
  EXPECT_THAT(open_to_read().notified(), IsEmpty());
}

}  // namespace
}  // namespace peakmark::history
