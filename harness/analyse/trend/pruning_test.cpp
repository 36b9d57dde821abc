#include "analyse/trend/pruning.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace peakmark::trend {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kPrunedCase = "padding/old/opencl/n:20";
constexpr const char* kEverything = "2027-01-01T00:00:00Z";

std::string run_id(std::size_t day) {
  return fmt::format("run{:03}", day);
}

DeviceHistory nightly_runs(std::size_t days) {
  DeviceHistory history;
  for (std::size_t day = 0; day < days; ++day) {
    HistoryRun run;
    run.id = run_id(day);
    run.date = fmt::format("2026-01-01T{:02}:{:02}:00Z", day / 60, day % 60);
    run.suite = "nightly";
    history.runs.push_back(run);
  }
  return history;
}

/// 1 % up and down in a pattern without a trend; 10 % more from `step` on. Measured twice.
void add_stepped_times(DeviceHistory& history, std::size_t step) {
  constexpr double kPattern[]{0.4, -1.2, 0.9, -0.3, 1.3, -0.8, 0.1, -1.0, 0.7, -0.1};
  Series series{kPrunedCase, std::string(metric::gpu_time_ns), {}, {}};
  for (std::size_t day = 0; day < history.runs.size(); ++day) {
    const double level = day < step ? 1000 : 1100;
    series.values.emplace_back(level * (1 + 0.01 * kPattern[(day * 7 + day / 10) % 10]));
    series.confirmations.emplace_back(level * (1 + 0.01 * kPattern[((day + 3) * 7 + day / 10) % 10]));
  }
  history.series.push_back(series);
}

TEST(Pruning, AnOpenRegressionOfTimesStaysOpenHoweverMuchIsPruned) {
  for (const std::size_t days : {80, 200, 400}) {
    DeviceHistory history = nightly_runs(days);
    add_stepped_times(history, days - 20);
    ASSERT_TRUE(has_open_regression(find_trends(history)));
    const DeviceHistory rest = pruned(history, kEverything, runs_to_keep(history, kEverything));
    EXPECT_LT(rest.runs.size(), 150u);
    const Trends trends = find_trends(rest);
    ASSERT_THAT(trends.changes, SizeIs(1)) << days;
    EXPECT_TRUE(is_open(trends.changes[0]));
    EXPECT_EQ(rest.runs[trends.changes[0].first].id, run_id(days - 20));
  }
}

TEST(Pruning, AnOldRegressionKeepsTheRunsBeforeIt) {
  DeviceHistory history = nightly_runs(500);
  add_stepped_times(history, 150);
  const DeviceHistory rest = pruned(history, kEverything, runs_to_keep(history, kEverything));
  EXPECT_TRUE(has_open_regression(find_trends(rest)));
  EXPECT_EQ(rest.runs.front().id, run_id(30)) << "120 before the step";
}

TEST(Pruning, TheNewestTimesOfACaseStay) {
  DeviceHistory history = nightly_runs(300);
  add_stepped_times(history, 1000);
  const auto kept = runs_to_keep(history, kEverything);
  EXPECT_EQ(kept.size(), DetectorOptions().baseline_runs);
  EXPECT_TRUE(kept.contains(run_id(299)));
  EXPECT_THAT(find_trends(pruned(history, kEverything, kept)).not_enough_data, IsEmpty());
}

TEST(Pruning, RunsOfTheLimitAndLaterAlwaysStay) {
  DeviceHistory history = nightly_runs(10);
  const std::string limit = history.runs[8].date;
  const DeviceHistory rest = pruned(history, limit, runs_to_keep(history, limit));
  ASSERT_THAT(rest.runs, SizeIs(2));
  EXPECT_EQ(rest.runs[0].id, run_id(8));
}

TEST(Pruning, ChangesOfBytesAndOutcomesAndAcceptancesStayWithTheRunBefore) {
  DeviceHistory history = nightly_runs(20);
  Series bytes{kPrunedCase, std::string(metric::requested_peak_bytes), {}, {}};
  CaseOutcomes outcomes{kPrunedCase, {}};
  for (std::size_t day = 0; day < 20; ++day) {
    bytes.values.emplace_back(day < 7 ? 1000 : 2000);
    outcomes.outcomes.emplace_back(day == 12 ? "crashed" : "ok");
  }
  bytes.values[6].reset();  // the change is from the run before
  history.series.push_back(bytes);
  history.outcomes.push_back(outcomes);
  history.acceptances.push_back({kPrunedCase, "", run_id(3), "me", "2026-01-20T00:00:00Z", "why"});
  EXPECT_THAT(runs_to_keep(history, kEverything),
              ElementsAre(run_id(2), run_id(3), run_id(5), run_id(7), run_id(11), run_id(12), run_id(13),
                          run_id(19)));
}

TEST(Pruning, TheNewestOfEachSuiteStays) {
  DeviceHistory history = nightly_runs(5);
  history.runs[1].suite = "weekly";
  EXPECT_THAT(runs_to_keep(history, kEverything), ElementsAre(run_id(1), run_id(4)));
}

}  // namespace
}  // namespace peakmark::trend
