// Steps that nearly all cases of a run take, from changes to text, JSON and notifications.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "analyse/trend/common_findings.hpp"
#include "analyse/trend/notifications.hpp"
#include "analyse/trend/reports.hpp"
#include "analyse/trend/sample_trends.hpp"

namespace peakmark::trend {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Json = nlohmann::json;

constexpr std::size_t kStep = 40;

/// Returns the runs of cases with noise of 1 %, of which the first `slower` take 30 % more since run 40.
DeviceHistory make_history(std::size_t cases, std::size_t slower, std::size_t runs,
                           bool is_one_variant = false) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 0.01);
  DeviceHistory history = nightly_history(runs);
  for (std::size_t i = 0; i < cases; ++i) {
    Series series;
    series.case_name = is_one_variant ? "a/v/dry/n:" + std::to_string(100 + i)
                                      : "a/v" + std::to_string(100 + i) + "/dry/n:1";
    series.metric = metric::gpu_time_ns;
    for (std::size_t run = 0; run < runs; ++run) {
      const double level = run >= kStep && i < slower ? 1300 : 1000;
      series.values.emplace_back(level * std::exp(normal(random)));
    }
    history.outcomes.push_back({series.case_name, std::vector<std::optional<std::string>>(runs, "ok")});
    history.series.push_back(std::move(series));
  }
  return history;
}

TEST(SharedSteps, AStepOfNearlyAllCasesIsOneFindingThatSuspectsTheMachine) {
  const DeviceHistory history = make_history(20, 19, 60);
  const std::vector<DeviceTrends> devices{{&history, find_trends(history), {}}};
  const std::vector<CommonFinding> findings = find_common_findings(devices, is_open);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].finding.changes, SizeIs(19));
  EXPECT_THAT(trends_table(devices), HasSubstr("19 of 20 cases are 30."));
  EXPECT_THAT(trends_table(devices), HasSubstr("% slower since run run40: suspect the machine"));
  EXPECT_THAT(trends_markdown(devices), HasSubstr("suspect the machine"));
  EXPECT_EQ(exit_code_of(devices, false), ExitCode::verdict);
  const Json json = Json::parse(trends_json(devices, ExitCode::verdict));
  EXPECT_THAT(json.at("findings").at(0).at("machine").get<std::string>(), HasSubstr("19 of 20 cases"));
}

TEST(SharedSteps, WhatFewCasesHaveIsOfTheirCode) {
  const auto is_shared = [](const DeviceHistory& history) {
    const Trends trends = find_trends(history);
    return std::ranges::any_of(trends.changes,
                               [](const Change& change) { return change.shared.has_value(); });
  };
  EXPECT_TRUE(is_shared(make_history(20, 18, 60)));
  EXPECT_FALSE(is_shared(make_history(20, 16, 60))) << "four of five";
  EXPECT_FALSE(is_shared(make_history(4, 4, 60))) << "four cases";
  EXPECT_TRUE(is_shared(make_history(5, 5, 60)));
  EXPECT_FALSE(is_shared(make_history(5, 5, 60, true))) << "one variant: its code";
}

TEST(SharedSteps, IsSentOnceAlthoughOneCaseWasFoundBefore) {
  std::vector<Notified> sent;
  std::vector<std::string> texts;
  for (std::size_t runs = kStep; runs < kStep + 8; ++runs) {
    DeviceHistory history = make_history(20, 20, kStep + 8);
    // The first case takes the step a run before the others.
    *history.series[0].values[kStep - 1] *= 1.3;
    std::vector<std::size_t> first(runs);
    for (std::size_t run = 0; run < runs; ++run) first[run] = run;
    history = with_runs(history, first);
    const std::vector<DeviceTrends> devices{{&history, find_trends(history), {}}};
    const Notices notices = find_notices(devices, sent, "2026-03-01T00:00:00Z", "2026-01-01T00:00:00Z");
    sent.insert(sent.end(), notices.joined.begin(), notices.joined.end());
    for (const Notice& notice : notices.notices) {
      sent.insert(sent.end(), notice.sent.begin(), notice.sent.end());
      texts.push_back(Json::parse(notice.document).at("event").get<std::string>() + " " +
                      Json::parse(notice.document).at("text").get<std::string>());
    }
  }
  ASSERT_THAT(texts, SizeIs(2)) << "of the first case, then of all";
  EXPECT_THAT(texts[0], HasSubstr("opened "));
  EXPECT_THAT(texts[1], HasSubstr("updated "));
  EXPECT_THAT(texts[1], HasSubstr("suspect the machine"));
}

TEST(HalfUndone, ARegressionShowsItsPresentLevel) {
  DeviceHistory history = make_history(1, 0, 90);
  for (std::size_t run = 40; run < 90; ++run) *history.series[0].values[run] *= run < 60 ? 2 : 1.5;
  const std::vector<DeviceTrends> devices{{&history, find_trends(history), {}}};
  const std::vector<CommonFinding> findings = find_common_findings(devices, is_open);
  ASSERT_THAT(findings, SizeIs(1));
  const Change& change = findings[0].finding.worst();
  EXPECT_NEAR(change.relative().value(), 1, 0.03);
  EXPECT_NEAR(change.relative_now().value(), 0.5, 0.03);
  const std::string table = trends_table(devices);
  EXPECT_THAT(table, HasSubstr(" us, now 1."));
  EXPECT_THAT(table, HasSubstr(" %, now +"));
  const Json json = Json::parse(trends_json(devices, ExitCode::verdict));
  EXPECT_NEAR(json.at("findings").at(0).at("now").get<double>(), 1500, 30);
  EXPECT_NEAR(json.at("findings").at(0).at("relative_now").get<double>(), 0.5, 0.03);
}

TEST(HalfUndone, SoDoesOneOfBytes) {
  DeviceHistory history = nightly_history(6);
  history.series = {
      {"pad/a/dry/n:1", std::string(metric::requested_peak_bytes), {10, 10, 20, 15, 18, 10}, {}, {}}};
  history.outcomes = {{"pad/a/dry/n:1", {"ok", "ok", "ok", "ok", "ok", "ok"}}};
  const auto now = [&](std::size_t runs) {
    std::vector<std::size_t> first(runs);
    for (std::size_t run = 0; run < runs; ++run) first[run] = run;
    return find_trends(with_runs(history, first)).changes.at(0).now;
  };
  EXPECT_EQ(now(3), std::nullopt);
  EXPECT_EQ(now(4), 15);
  EXPECT_EQ(now(5), 18);
  EXPECT_EQ(now(6), std::nullopt) << "recovered";
}

}  // namespace
}  // namespace peakmark::trend
