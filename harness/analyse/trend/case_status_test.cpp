#include "analyse/trend/case_status.hpp"

#include <gmock/gmock.h>

#include <map>

#include "analyse/trend/sample_trends.hpp"
#include "measure/check/reports.hpp"

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

TEST(Standings, AWorseOutcomeIsARegressionUnlessItsSuiteExpectsThat) {
  DeviceHistory history = nightly_history(3);
  history.outcomes = {{"a/crashed", {"ok", "ok", "crashed"}},
                      {"a/expected", {"ok", "ok", "out_of_memory"}, {false, false, true}},
                      {"a/lost", {"ok", "ok", "lost"}},
                      {"a/never", {"unsupported", "unsupported", "unsupported"}},
                      {"a/unsupported", {"ok", "ok", "unsupported"}}};
  const auto statuses = standings_of(history);
  EXPECT_THAT(states(statuses), ElementsAre(Pair("a/crashed", "regression"),
                                            Pair("a/expected", "as_expected"), Pair("a/lost", "regression"),
                                            Pair("a/never", "skipped"), Pair("a/unsupported", "regression")));
  EXPECT_THAT(statuses[0].texts, ElementsAre("crashed: why"));
  EXPECT_EQ(headline(tally_of(statuses)),
            "5 cases: 0 pass, 1 as expected (1 out_of_memory), 1 skipped (1 unsupported), 1 fail (1 "
            "unsupported), 2 "
            "not measured (1 crashed, 1 missing)");
}

TEST(Standings, AnAcceptedOutcomeNeedsNoAction) {
  DeviceHistory history = nightly_history(3);
  history.outcomes = {{"a/crashed", {"ok", "crashed", "crashed"}}};
  history.acceptances = {
      {"a/crashed", "outcome", "run1", "ada", "2026-01-04T00:00:00Z", "the driver's fault"}};
  const auto statuses = standings_of(history);
  EXPECT_THAT(states(statuses), ElementsAre(Pair("a/crashed", "as_expected")));
  EXPECT_FALSE(statuses[0].needs_action());
  EXPECT_EQ(headline(tally_of(statuses)), "1 case: 0 pass, 1 as expected (1 accepted), 0 fail");
}

TEST(Standings, ACaseThatLeftItsSuiteNeedsNoActionAndIsNamed) {
  DeviceHistory history = nightly_history(3);
  history.outcomes = {{"a/gone", {"ok", "ok", std::nullopt}},
                      {"a/gone_before", {"ok", std::nullopt, std::nullopt}}};
  const auto statuses = standings_of(history);
  EXPECT_THAT(states(statuses),
              ElementsAre(Pair("a/gone", "left_suite"), Pair("a/gone_before", "left_suite")));
  EXPECT_THAT(statuses[0].texts, ElementsAre("new since the previous run", "last run on 2026-01-02"));
  EXPECT_THAT(statuses[1].texts, ElementsAre("last run on 2026-01-01"));
  EXPECT_FALSE(statuses[0].needs_action());
  EXPECT_EQ(headline(tally_of(statuses)), "2 cases: 0 pass, 2 skipped (2 left the suite), 0 fail");
}

TEST(Standings, ABranchFailsOnlyByRulesThatPassOnTheBaseBranch) {
  DeviceHistory history = nightly_history(3);
  history.outcomes = {{"a/leaks_here", {"ok", "ok", "ok"}},
                      {"a/leaks_too", {"ok", "ok", "ok"}},
                      {"a/left_out", {"ok", "ok", std::nullopt}},
                      {"a/more", {"ok", "ok", "ok"}}};
  for (HistoryRun& run : history.runs) run.fingerprint = "same";
  history.base_runs = {{"pull/1", "main", "nightly", "c2", "c1", 1, 0}};
  const ReadRun good = sample_read_run(history);
  const auto leak = [](peakmark::Run& run, const std::string& name) {
    for (Observation& one : run.observations) {
      if (one.case_name == name) one.leaked_bytes = 64;
    }
  };
  const auto statuses = find_case_statuses(history, find_trends(history), [&](const std::string& id) {
    peakmark::Run run = good(id);
    leak(run, "a/leaks_too");
    leak(run, "a/more");
    if (id != "run2") return run;
    leak(run, "a/leaks_here");
    for (Observation& one : run.observations) {
      if (one.case_name == "a/more") one.estimate->bytes_estimated = 2000;
    }
    return run;
  });
  EXPECT_THAT(states(statuses), ElementsAre(Pair("a/leaks_here", "rule"), Pair("a/leaks_too", "as_on_base"),
                                            Pair("a/left_out", "skipped"), Pair("a/more", "rule")));
  EXPECT_THAT(statuses[1].texts, testing::SizeIs(1)) << "the absolute state is shown";
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
