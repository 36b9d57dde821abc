#include "analyse/trend/trends.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "analyse/trend/sample_trends.hpp"
#include "base/error.hpp"

namespace peakmark::trend {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kCase = "padding/old/opencl/n:20";

/// 1 % up and down in a pattern without a trend.
double wobble(std::size_t day) {
  constexpr double kPattern[]{0.4, -1.2, 0.9, -0.3, 1.3, -0.8, 0.1, -1.0, 0.7, -0.1};
  return 0.01 * kPattern[(day * 7 + day / 10) % 10];
}

/// Adds a case with times `level(day)` ns and a noise of 1 %, and with second measurements if `twice`.
template <typename Level>
void add_times(DeviceHistory& history, Level level, bool twice = true, const std::string& name = kCase) {
  Series series{name, std::string(metric::gpu_time_ns), {}, {}};
  for (std::size_t day = 0; day < history.runs.size(); ++day) {
    series.values.emplace_back(level(day) * (1 + wobble(day)));
    if (twice) series.confirmations.emplace_back(level(day) * (1 + wobble(day + 3)));
  }
  history.series.push_back(series);
}

void add_bytes(DeviceHistory& history, std::vector<std::optional<double>> values,
               std::string_view name = metric::requested_peak_bytes) {
  history.series.push_back({kCase, std::string(name), std::move(values), {}});
}

auto step_at(std::size_t day, double factor) {
  return [=](std::size_t at) { return at < day ? 1000.0 : 1000.0 * factor; };
}

TEST(Trends, AStepIsReportedInItsSecondRunAndStaysOpen) {
  DeviceHistory history = nightly_history(80);
  add_times(history, step_at(60, 1.10));
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(1));
  const Change& change = trends.changes[0];
  EXPECT_EQ(change.verdict, Verdict::regression);
  EXPECT_EQ(change.state, State::open);
  EXPECT_EQ(change.evidence, Evidence::measured_again);
  EXPECT_EQ(change.first, 60u);
  EXPECT_EQ(change.last_before, 59u);
  EXPECT_EQ(change.raised, 61u);
  EXPECT_NEAR(*change.relative(), 0.10, 0.01);
  EXPECT_TRUE(has_open_regression(trends));
}

TEST(Trends, WithoutASecondMeasurementTheNextRunConfirms) {
  DeviceHistory history = nightly_history(80);
  add_times(history, step_at(60, 1.10), false);
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(1));
  EXPECT_EQ(trends.changes[0].evidence, Evidence::next_run);
  EXPECT_EQ(trends.changes[0].raised, 62u);
  EXPECT_EQ(trends.changes[0].first, 60u);
}

TEST(Trends, TheFirstRunIsMeasuredAgainAndTheSecondIsSuspicious) {
  DeviceHistory history = nightly_history(61);
  add_times(history, step_at(60, 1.10), false);
  EXPECT_THAT(find_trends(history).to_measure_again, ElementsAre(kCase));
  EXPECT_THAT(find_trends(history).changes, IsEmpty());
  history = nightly_history(62);
  add_times(history, step_at(60, 1.10), false);
  const Trends trends = find_trends(history);
  EXPECT_THAT(trends.to_measure_again, ElementsAre(kCase));
  ASSERT_THAT(trends.changes, SizeIs(1));
  EXPECT_EQ(trends.changes[0].verdict, Verdict::suspicious);
  EXPECT_FALSE(trends.changes[0].state);
  EXPECT_FALSE(has_open_regression(trends));
}

TEST(Trends, AnUnchangedSecondMeasurementClearsTheRun) {
  DeviceHistory history = nightly_history(80);
  add_times(history, [](std::size_t day) { return day == 60 || day == 61 ? 1150.0 : 1000.0; });
  for (auto& again : history.series[0].confirmations) again = 1000;
  EXPECT_THAT(find_trends(history).changes, IsEmpty());
}

TEST(Trends, RecoveryIsReportedAsSuch) {
  DeviceHistory history = nightly_history(120);
  add_times(history, [](std::size_t day) { return day < 60 || day >= 80 ? 1000.0 : 1100.0; });
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(2));
  EXPECT_EQ(trends.changes[0].state, State::recovered);
  EXPECT_EQ(trends.changes[1].verdict, Verdict::recovery);
  EXPECT_EQ(trends.changes[1].first, 80u);
  EXPECT_FALSE(has_open_regression(trends));
}

TEST(Trends, AnImprovementUndoesNothingElse) {
  DeviceHistory history = nightly_history(120);
  add_times(history, [](std::size_t day) { return day < 60 ? 1000.0 : day < 90 ? 1200.0 : 1100.0; });
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(2));
  EXPECT_EQ(trends.changes[0].state, State::open);
  EXPECT_EQ(trends.changes[1].verdict, Verdict::improvement);
}

TEST(Trends, AStepSoonAfterAStepIsFound) {
  DeviceHistory history = nightly_history(100);
  add_times(history, [](std::size_t day) { return day < 60 ? 1000.0 : day < 70 ? 1100.0 : 1210.0; });
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(2));
  EXPECT_EQ(trends.changes[1].first, 70u);
  EXPECT_LE(trends.changes[1].raised, 73u);
}

TEST(Trends, ASlowDriftIsFound) {
  DeviceHistory history = nightly_history(120);
  add_times(history, [](std::size_t day) {
    return 1000.0 * (1 + 0.10 * std::clamp((static_cast<double>(day) - 60) / 30, 0.0, 1.0));
  });
  const Trends trends = find_trends(history);
  ASSERT_FALSE(trends.changes.empty());
  EXPECT_LE(trends.changes[0].raised, 85u);
  EXPECT_EQ(trends.changes[0].verdict, Verdict::regression);
}

TEST(Trends, AnAcceptedChangeIsNoRegression) {
  DeviceHistory history = nightly_history(80);
  add_times(history, step_at(60, 1.10));
  history.acceptances = {{kCase, "", "run60", "ada", "2026-03-01", "more work"}};
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(1));
  EXPECT_EQ(trends.changes[0].state, State::accepted);
  EXPECT_FALSE(has_open_regression(trends));
}

TEST(Trends, AnAcceptanceBeforeTheAlarmBeginsALevel) {
  DeviceHistory history = nightly_history(80);
  add_times(history, [](std::size_t day) { return day < 60 ? 1000.0 : day < 62 ? 1012.0 : 1100.0; });
  history.acceptances = {{kCase, "gpu_time_ns", "run62", "ada", "2026-03-01", "known"}};
  EXPECT_FALSE(has_open_regression(find_trends(history)));
}

TEST(Trends, AnAcceptanceFromARunWithoutATimeBeginsALevelWithTheNext) {
  // Neither step is large enough to be reported, but both together are.
  DeviceHistory history = nightly_history(120);
  add_times(history, [](std::size_t day) { return day < 60 ? 1000.0 : day < 80 ? 1015.0 : 1030.0; });
  history.series[0].values[60] = std::nullopt;
  ASSERT_TRUE(has_open_regression(find_trends(history)));
  history.acceptances = {{kCase, "gpu_time_ns", "run60", "ada", "2026-03-01", "known"}};
  EXPECT_FALSE(has_open_regression(find_trends(history)));
}

TEST(Trends, FewRunsAreNotEnough) {
  DeviceHistory history = nightly_history(20);
  add_times(history, step_at(15, 2));
  const Trends trends = find_trends(history);
  EXPECT_THAT(trends.changes, IsEmpty());
  ASSERT_THAT(trends.not_enough_data, SizeIs(1));
  EXPECT_EQ(trends.not_enough_data[0].runs, 20u);
}

TEST(Trends, MissingRunsAndValuesThatAreNotNumbersAreIgnored) {
  DeviceHistory history = nightly_history(100);
  add_times(history, step_at(80, 1.10));
  std::vector<std::optional<double>>& values = history.series[0].values;
  values[10] = std::nullopt;
  values[20] = std::numeric_limits<double>::quiet_NaN();
  values[30] = std::numeric_limits<double>::infinity();
  values[40] = 0;
  values[50] = -3;
  values[81] = std::nullopt;
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(1));
  EXPECT_EQ(trends.changes[0].first, 80u);
  EXPECT_EQ(trends.changes[0].raised, 82u);

  for (auto& value : values) value = std::nullopt;
  const Trends none = find_trends(history);
  EXPECT_THAT(none.changes, IsEmpty());
  EXPECT_THAT(none.not_enough_data, IsEmpty());
}

TEST(Trends, AConstantSeriesIsNoNews) {
  DeviceHistory history = nightly_history(60);
  history.series.push_back(
      {kCase, std::string(metric::gpu_time_ns), std::vector<std::optional<double>>(60, 5.0), {}});
  EXPECT_THAT(find_trends(history).changes, IsEmpty());
}

TEST(Trends, TheReferenceTakesTheMachineOut) {
  // The machine is slower and faster by up to 12 % from day to day; the case by 4 % from day 80 on.
  const auto machine = [](std::size_t day) { return 1 + 0.12 * std::sin(static_cast<double>(day * day)); };
  DeviceHistory history = nightly_history(100);
  for (std::size_t day = 0; day < 100; ++day) {
    history.runs[day].reference_copy_ns = 500 * machine(day) * (1 + wobble(day + 5) / 4);
  }
  const auto level = [&](std::size_t day) { return (day < 80 ? 1000.0 : 1060.0) * machine(day); };
  add_times(history, level);
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(1));
  EXPECT_EQ(trends.changes[0].reference, "copy");
  EXPECT_EQ(trends.changes[0].first, 80u);
  EXPECT_NEAR(*trends.changes[0].relative(), 0.06, 0.01);

  EXPECT_LE(trends.changes[0].raised, 82u);

  for (HistoryRun& run : history.runs) run.reference_copy_ns = std::nullopt;
  for (const Change& change : find_trends(history).changes) EXPECT_GT(change.raised, 85u);
}

TEST(Trends, AStepOfTheReferenceAloneIsNoneOfTheCase) {
  const auto machine = [](std::size_t day) { return 1 + 0.02 * std::sin(static_cast<double>(day * day)); };
  DeviceHistory history = nightly_history(100);
  for (std::size_t day = 0; day < 100; ++day) {
    history.runs[day].reference_copy_ns = (day < 80 ? 500 : 400) * machine(day);
  }
  add_times(history, [&](std::size_t day) { return 1000.0 * machine(day); });
  EXPECT_THAT(find_trends(history).changes, IsEmpty());
}

TEST(Trends, ManyCasesShareTheFalseDiscoveriesOfARun) {
  // A single case with 4 % would be reported in its second run; among 3,000 cases it needs a third.
  const auto raised = [](std::size_t others) {
    DeviceHistory history = nightly_history(70);
    add_times(history, step_at(60, 1.028));
    for (std::size_t i = 0; i < others; ++i) {
      add_times(history, step_at(99, 1), true, "other/" + std::to_string(i));
    }
    const Trends trends = find_trends(history);
    return trends.changes.empty() ? std::size_t{99} : trends.changes[0].raised;
  };
  EXPECT_LT(raised(0), raised(3000));
}

TEST(Trends, BytesAreReportedInTheFirstRunWithTheChangedAllocations) {
  DeviceHistory history = nightly_history(5);
  history.runs[3].driver = "2";
  add_bytes(history, {1024, 1024, std::nullopt, 1280, 1280});
  const auto at_peak = [&](const std::string&, const std::string& run) {
    std::vector<PeakEntry> list{{"input", "buffer", 1024}};
    if (run == "run3") list.push_back({"flags", "buffer", 256});
    return list;
  };
  const Trends trends = find_trends(history, {}, at_peak);
  ASSERT_THAT(trends.changes, SizeIs(1));
  const Change& change = trends.changes[0];
  EXPECT_EQ(change.verdict, Verdict::regression);
  EXPECT_EQ(change.evidence, Evidence::exact);
  EXPECT_EQ(change.first, 3u);
  EXPECT_EQ(change.last_before, 1u);
  EXPECT_EQ(change.raised, 3u);
  EXPECT_THAT(change.environment, ElementsAre("driver"));
  EXPECT_THAT(change.allocations,
              testing::Optional(ElementsAre(MovedAllocations{"flags", "buffer", std::nullopt, 256, 1})));
}

TEST(Trends, BytesRecoverOnlyToTheVeryByte) {
  DeviceHistory history = nightly_history(4);
  add_bytes(history, {1000, 1256, 1001, 1000});
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(3));
  EXPECT_EQ(trends.changes[0].state, State::recovered);
  EXPECT_EQ(trends.changes[1].verdict, Verdict::improvement);
  EXPECT_EQ(trends.changes[2].verdict, Verdict::recovery);
}

TEST(Trends, WhatAProgramReportsIsNotJudged) {
  DeviceHistory history;
  for (const char* const id : {"1", "2"}) history.runs.emplace_back().id = id;
  history.series = {{"a/b", "iterations", {12, 30}, {}}};
  history.outcomes = {{"a/b", {"ok", "ok"}}};
  EXPECT_TRUE(find_trends(history).changes.empty());
}

TEST(Trends, FromZeroBytesThereIsNoRatio) {
  DeviceHistory history = nightly_history(2);
  add_bytes(history, {0, 256}, metric::leaked_bytes);
  EXPECT_FALSE(find_trends(history).changes.at(0).relative());
}

TEST(Trends, AnEstimateThatBecomesTooLowIsARegression) {
  DeviceHistory history = nightly_history(5);
  add_bytes(history, {0.95, 0.9, 1.2, 0.9, 0.5}, metric::estimate_ratio);
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.changes, SizeIs(4));
  EXPECT_EQ(trends.changes[0].verdict, Verdict::suspicious);  // within the window: reported only
  EXPECT_EQ(trends.changes[1].verdict, Verdict::regression);
  EXPECT_EQ(trends.changes[1].state, State::recovered);
  EXPECT_EQ(trends.changes[2].verdict, Verdict::recovery);
  EXPECT_EQ(trends.changes[3].verdict, Verdict::regression);
  EXPECT_EQ(trends.changes[3].state, State::open);
}

TEST(Trends, TheEnvironmentIsCompared) {
  DeviceHistory history = nightly_history(3);
  history.runs[0].environment = {{"load average", "0.1"}, {"POCL_MEMORY_LIMIT", "4"}};
  history.runs[1].environment = {{"load average", "9"}, {"cpu", "some"}};
  history.runs[2].environment = history.runs[1].environment;
  history.runs[2].partial = "shard 2 of 4 is missing";
  const Trends trends = find_trends(history);
  ASSERT_THAT(trends.environment_changes, SizeIs(2));
  EXPECT_EQ(trends.environment_changes[0].what, "POCL_MEMORY_LIMIT");
  EXPECT_EQ(trends.environment_changes[0].before, "4");
  EXPECT_FALSE(trends.environment_changes[0].after);
  EXPECT_EQ(trends.environment_changes[1].what, "cpu");
}

TEST(Trends, ADamagedHistoryIsRefused) {
  DeviceHistory history = nightly_history(3);
  add_bytes(history, {1, 2});
  EXPECT_THROW(find_trends(history), UsageError);
}

TEST(Trends, AnEmptyHistoryHasNone) {
  EXPECT_THAT(find_trends(DeviceHistory{}).changes, IsEmpty());
}

TEST(Trends, AChangeThatWasResolvedIsReportedOnce) {
  for (std::size_t offset = 0; offset < 20; ++offset) {
    DeviceHistory history = nightly_history(140);
    add_times(history, [](std::size_t day) { return day >= 90 && day < 104 ? 1100.0 : 1000.0; });
    // Three times the noise, in a different order.
    for (auto* const values : {&history.series[0].values, &history.series[0].confirmations}) {
      for (std::size_t day = 0; day < values->size(); ++day) {
        *(*values)[day] *= 1 + 2 * wobble(day + 11 * offset);
      }
    }
    std::vector<Verdict> verdicts;
    for (const Change& change : find_trends(history).changes) {
      EXPECT_NE(change.state, State::open) << offset;
      verdicts.push_back(change.verdict);
    }
    EXPECT_THAT(verdicts, ElementsAre(Verdict::regression, Verdict::recovery)) << offset;
  }
}

/// Returns the trends of a case with 1000 bytes that grows, if growth by 50 bytes is allowed.
Trends allowing_50(std::vector<std::optional<double>> values,
                   std::string_view name = metric::requested_peak_bytes) {
  DeviceHistory history = nightly_history(values.size());
  add_bytes(history, std::move(values), name);
  TrendOptions options;
  options.allowed_growth = parse_growth_allowance("50");
  return find_trends(history, options);
}

TEST(Trends, AllowedGrowthIsNoChangeAndIsReported) {
  const Trends trends = allowing_50({1000, 1030, 1050});
  EXPECT_THAT(trends.changes, IsEmpty());
  ASSERT_THAT(trends.allowed_growth, SizeIs(1));
  EXPECT_EQ(trends.allowed_growth[0].level, 1000);
  EXPECT_EQ(trends.allowed_growth[0].value, 1050);
  EXPECT_THAT(allowing_50({1000, 1030, 1000}).allowed_growth, IsEmpty()) << "it is back";
  EXPECT_THAT(allowing_50({0, 1}, metric::leaked_bytes).changes, SizeIs(1)) << "a leak is none";
}

TEST(Trends, TheSuiteAllowsGrowthOfItsCases) {
  for (const auto& [of_suite, changes] : {std::pair{"5 %", 0U}, {"49 B", 1U}}) {
    DeviceHistory history = nightly_history(3);
    add_bytes(history, {1000, 1030, 1050});
    add_bytes(history, {0, 0, 1}, metric::leaked_bytes);
    history.allowances = {{kCase, parse_growth_allowance(of_suite)}};
    const Trends trends = find_trends(history);
    EXPECT_THAT(trends.changes, SizeIs(changes + 1)) << of_suite << ", and the leak";
    EXPECT_THAT(trends.allowed_growth, SizeIs(1 - changes));
  }
  EXPECT_THAT(allowing_50({1000, 1050}).changes, IsEmpty()) << "the option allows more than no suite";
}

TEST(Trends, SmallStepsThatTogetherAreMoreThanAllowedAreARegression) {
  const Trends trends = allowing_50({1000, 1000, 1030, 1060});
  ASSERT_THAT(trends.changes, SizeIs(1));
  EXPECT_TRUE(is_open(trends.changes[0]));
  EXPECT_EQ(trends.changes[0].before, 1000);
  EXPECT_EQ(trends.changes[0].after, 1060);
  EXPECT_EQ(trends.changes[0].last_before, 1U) << "the last run of the level that it grew from";
  EXPECT_EQ(trends.changes[0].first, 3U);
  EXPECT_THAT(trends.allowed_growth, IsEmpty());
}

TEST(Trends, BackAtWhatIsAllowedIsRecovered) {
  const Trends trends = allowing_50({1000, 2000, 1040});
  ASSERT_THAT(trends.changes, SizeIs(2));
  EXPECT_EQ(trends.changes[0].state, State::recovered);
  EXPECT_FALSE(has_open_regression(trends));
}

class Outcomes : public testing::Test {
 protected:
  static std::vector<std::string> changes(std::vector<std::optional<std::string>> outcomes,
                                          std::vector<bool> is_expected = {}) {
    DeviceHistory history = nightly_history(outcomes.size());
    history.outcomes = {{"a/b", std::move(outcomes), std::move(is_expected)}};
    std::vector<std::string> texts;
    for (const Change& one : find_trends(history).changes) {
      texts.push_back(fmt::format("{} {}>{} {} {}", one.first,
                                  to_string(static_cast<OutcomeLevel>(one.before)),
                                  to_string(static_cast<OutcomeLevel>(one.after)), to_string(one.verdict),
                                  to_string(one.state.value())));
      EXPECT_EQ(one.metric, "outcome");
      EXPECT_EQ(one.relative(), std::nullopt);
    }
    return texts;
  }
};

TEST_F(Outcomes, AWorseOneIsARegressionUntilItIsAsBefore) {
  EXPECT_THAT(changes({"ok", "out_of_memory", "out_of_memory"}),
              ElementsAre("1 ok>out_of_memory regression open"));
  EXPECT_THAT(changes({"ok", "crashed", std::nullopt, "ok"}),
              ElementsAre("1 ok>crashed regression recovered", "3 crashed>ok recovery past"));
  EXPECT_THAT(
      changes({"unsupported", "crashed", "unsupported"}),
      ElementsAre("1 unsupported>crashed regression recovered", "2 crashed>unsupported recovery past"));
}

TEST_F(Outcomes, ALessBadOneDoesNotCloseARegression) {
  EXPECT_THAT(changes({"ok", "crashed", "timeout"}),
              ElementsAre("1 ok>crashed regression open", "2 crashed>timeout improvement past"));
}

TEST_F(Outcomes, OneThatWasNeverBetterIsNoChange) {
  EXPECT_THAT(changes({"crashed", "crashed"}), testing::IsEmpty());
  EXPECT_THAT(changes({std::nullopt, "unsupported"}), testing::IsEmpty());
}

TEST_F(Outcomes, WhatASuiteExpectsIsAsGoodAsOk) {
  EXPECT_THAT(changes({"ok", "out_of_memory"}, {false, true}), testing::IsEmpty());
  EXPECT_THAT(changes({"out_of_memory", "ok"}, {true, false}), testing::IsEmpty());
  EXPECT_THAT(changes({"out_of_memory", "out_of_memory"}, {true, false}),
              ElementsAre("1 as_expected>out_of_memory regression open"));
}

TEST_F(Outcomes, ACaseThatIsNoLongerMeasuredIsIncomplete) {
  using Values = std::vector<std::optional<double>>;
  const auto outcomes = [](std::string_view metric, const Values& values,
                           std::vector<bool> memory_only = {}) {
    DeviceHistory history = nightly_history(values.size());
    for (std::size_t run = 0; run < memory_only.size(); ++run)
      history.runs[run].memory_only = memory_only[run];
    std::vector<std::optional<std::string>> all(values.size(), "ok");
    mark_incomplete(history.runs, metric, values, all);
    std::string text;
    for (const auto& one : all) text += one->substr(0, 1);
    return text;
  };
  const std::optional<double> none;
  EXPECT_EQ(outcomes(metric::gpu_time_ns, {none, 5.0, none, none, 6.0, none}), "ooiioi");
  EXPECT_EQ(outcomes(metric::gpu_time_ns, {5.0, none, 6.0}, {false, true, false}), "ooo");
  EXPECT_EQ(outcomes(metric::gpu_time_ns, {5.0, none, none, 6.0}, {false, false, true, false}), "oiio");
  EXPECT_EQ(outcomes(metric::requested_peak_bytes, {5.0, none}, {true, true}), "oi");
  EXPECT_EQ(outcomes(metric::gpu_time_ns, {none, none}), "oo");

  std::vector<std::optional<std::string>> failed{"ok", "crashed", std::nullopt, "ok"};
  mark_incomplete(nightly_history(4).runs, metric::gpu_time_ns, {5.0, none, none, none}, failed);
  EXPECT_THAT(failed, ElementsAre("ok", "crashed", std::nullopt, "incomplete"));
  EXPECT_THAT(changes({"ok", "incomplete", "incomplete"}), ElementsAre("1 ok>incomplete regression open"));
  EXPECT_THAT(changes({"ok", "incomplete", "ok"}),
              ElementsAre("1 ok>incomplete regression recovered", "2 incomplete>ok recovery past"));
}

TEST_F(Outcomes, AnUnknownOneIsADamagedHistory) {
  EXPECT_THROW(changes({"ok", "exploded"}), UsageError);
}

}  // namespace
}  // namespace peakmark::trend
