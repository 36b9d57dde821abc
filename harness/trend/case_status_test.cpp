#include "trend/case_status.hpp"

#include <gmock/gmock.h>

#include <map>

#include "check/reports.hpp"
#include "trend/sample_trends.hpp"

namespace peakmark::trend {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::map<std::string, std::string> states(const std::vector<CaseStatus>& statuses) {
  std::map<std::string, std::string> found;
  for (const CaseStatus& one : statuses) found[one.case_name] = to_string(one.state);
  return found;
}

Tally tally_of(const std::vector<CaseStatus>& statuses) {
  Tally tally;
  for (const CaseStatus& one : statuses) tally.add(one.judgement, one.reason);
  return tally;
}

std::vector<CaseStatus> standings_of(const DeviceHistory& history) {
  return find_case_statuses(history, find_trends(history), sample_read_run(history));
}

TEST(Standings, OneRunHasTheHeadlineOfItsCheck) {
  DeviceHistory history = nightly_history(1);
  history.outcomes = {{"a/crashed", {"crashed"}}, {"a/good", {"ok"}}, {"a/no", {"unsupported"}}};
  const auto statuses = standings_of(history);
  EXPECT_THAT(states(statuses),
              ElementsAre(Pair("a/crashed", "failed"), Pair("a/good", "steady"), Pair("a/no", "skipped")));
  EXPECT_THAT(statuses[2].texts, ElementsAre("unsupported: why"));
  EXPECT_TRUE(statuses[0].needs_action());
  EXPECT_FALSE(statuses[2].needs_action());
  const peakmark::Run run = sample_read_run(history)("run0");
  EXPECT_EQ(headline(tally_of(statuses)), peakmark::headline(run, judge(run, {})));
}

TEST(Standings, WhatFailsInTheNewestRunNeedsAttention) {
  DeviceHistory history = nightly_history(2);
  history.outcomes = {{"a/high", {"ok", "ok"}}, {"a/leak", {"ok", "ok"}}};
  const ReadRun good = sample_read_run(history);
  const auto statuses = find_case_statuses(history, find_trends(history), [&](const std::string& id) {
    EXPECT_EQ(id, "run1");
    peakmark::Run run = good(id);
    run.observations[0].estimate->bytes_estimated = 2000;
    run.observations[1].leaked_bytes = 64;
    return run;
  });
  EXPECT_THAT(states(statuses), ElementsAre(Pair("a/high", "window"), Pair("a/leak", "rule")));
  EXPECT_THAT(statuses[0].texts, ElementsAre("peak / estimate 0.500, window 0.8 to 1"));
  EXPECT_EQ(headline(tally_of(statuses)), "2 cases: 0 pass, 2 fail (1 leak, 1 window_bytes)");
}

TEST(Standings, ACaseThatIsNotMeasuredAnyMoreHasVanishedUnlessItsSuiteExpectsThat) {
  DeviceHistory history = nightly_history(3);
  history.outcomes = {{"a/expected", {"ok", "ok", "out_of_memory"}},
                      {"a/gone", {"ok", "ok", std::nullopt}},
                      {"a/lost", {"ok", "ok", "unsupported"}},
                      {"a/lost_before", {"ok", std::nullopt, std::nullopt}}};
  const ReadRun runs = sample_read_run(history);
  const auto statuses = find_case_statuses(history, find_trends(history), [&](const std::string& id) {
    peakmark::Run run = runs(id);
    run.context.planned[0].expected_outcome = "out_of_memory";
    return run;
  });
  EXPECT_THAT(states(statuses), ElementsAre(Pair("a/expected", "as_expected"), Pair("a/gone", "vanished"),
                                            Pair("a/lost", "vanished"), Pair("a/lost_before", "vanished")));
  EXPECT_THAT(statuses[1].texts, ElementsAre("new since the previous run", "last run on 2026-01-02"));
  EXPECT_THAT(statuses[2].texts, testing::Contains("new since the previous run"));
  EXPECT_THAT(statuses[3].texts, ElementsAre("last run on 2026-01-01"));
  EXPECT_EQ(headline(tally_of(statuses)),
            "4 cases: 0 pass, 1 as expected (1 out_of_memory), 3 skipped (3 vanished), 0 fail");
}

TEST(Standings, ARegressionIsWorseThanWhatTheNewestRunShows) {
  DeviceHistory history = nightly_history(2);
  history.outcomes = {{"a/grew", {"ok", "ok"}}};
  history.series = {{"a/grew", "requested_peak_bytes", {1000, 1256}, {}}};
  const auto statuses = standings_of(history);
  EXPECT_THAT(states(statuses), ElementsAre(Pair("a/grew", "regression")));
  EXPECT_EQ(headline(tally_of(statuses)), "1 case: 0 pass, 1 fail (1 regression)");
}

TEST(Standings, ASuiteThatNobodyRunsIsNotJudged) {
  DeviceHistory history = nightly_history(31);
  for (std::size_t day = 1; day < 31; ++day) history.runs[day].suite = "another";
  std::vector<std::optional<std::string>> once(31);
  once[0] = "crashed";
  history.outcomes = {{"a/old", once}};
  const auto statuses =
      find_case_statuses(history, find_trends(history), [](const std::string&) -> peakmark::Run {
        ADD_FAILURE() << "no run is read";
        return {};
      });
  EXPECT_THAT(states(statuses), ElementsAre(Pair("a/old", "skipped")));
  EXPECT_THAT(statuses[0].texts, ElementsAre("last run on 2026-01-01"));
}

TEST(Standings, ACaseThatNoRunPlannedIsNone) {
  DeviceHistory history = nightly_history(1);
  history.outcomes = {{"a/never", {std::nullopt}}};
  EXPECT_THAT(standings_of(history), IsEmpty());
}

}  // namespace
}  // namespace peakmark::trend
