// Changes of simulated times: what is reported, and regressions that are resolved although no single run is
// significant.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "analyse/trend/changes.hpp"
#include "analyse/trend/trends.hpp"

namespace peakmark::trend {
namespace {

using testing::ElementsAre;

/// Returns the confirmed changes of 120 runs without second measurements.
std::vector<Change> changes_of_120_runs(unsigned seed,
                                        const std::function<double(std::size_t, double)>& level) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 0.01);
  std::uniform_real_distribution<double> uniform;
  DeviceHistory history;
  Series& series = history.series.emplace_back();
  series.metric = metric::gpu_time_ns;
  for (std::size_t run = 0; run < 120; ++run) {
    history.runs.emplace_back().id = std::to_string(run);
    series.values.emplace_back(1000 * level(run, uniform(random)) * std::exp(normal(random)));
  }
  std::vector<Change> changes = find_trends(history).changes;
  std::erase_if(changes, [](const Change& change) { return change.verdict == Verdict::suspicious; });
  return changes;
}

// At most 1 in 1,000 runs: 12 in these 12,000 of each gap.
TEST(TimeChanges, TwoStatesAreNoise) {
  for (const double gap : {0.2, 0.9}) {
    std::size_t changes = 0;
    std::size_t open = 0;
    for (unsigned seed = 1; seed <= 100; ++seed) {
      for (const Change& change : changes_of_120_runs(
               seed, [&](std::size_t, double random) { return random < 0.5 ? 1 : 1 + gap; })) {
        ++changes;
        if (is_open(change)) ++open;
      }
    }
    EXPECT_LE(changes, 12U) << gap;
    EXPECT_LE(open, 2U) << gap;
  }
}

TEST(TimeChanges, AStepIsFoundInItsSecondOrThirdRun) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    const std::vector<Change> changes =
        changes_of_120_runs(seed, [](std::size_t run, double) { return run < 60 ? 1 : 1.2; });
    const auto found = std::ranges::find(changes, Verdict::regression, &Change::verdict);
    ASSERT_NE(found, changes.end()) << seed;
    EXPECT_GE(found->raised, 60U) << seed;
    EXPECT_LE(found->raised, 62U) << seed;
  }
}

/// Runs of Gaussian noise, `level` times 1000 ns.
struct SimulatedRuns {
  SimulatedRuns(std::size_t days, double noise, unsigned seed,
                const std::function<double(std::size_t)>& level) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, noise);
    series.metric = metric::gpu_time_ns;
    for (std::size_t day = 0; day < days; ++day) {
      HistoryRun& run = history.runs.emplace_back();
      run.reference_copy_ns = 100;
      series.values.emplace_back(1000 * level(day) * (1 + normal(random)));
    }
  }
  /// An open step of 10 % that was reported in its third run.
  std::vector<State> states(const std::string& reference = {}) {
    Change change;
    change.metric = metric::gpu_time_ns;
    change.first = 60;
    change.last_before = 59;
    change.raised = 62;
    change.before = 1000;
    change.after = 1100;
    change.verdict = Verdict::regression;
    change.state = State::open;
    change.reference = reference;
    std::vector<Change> changes{change};
    close_resolved_regressions(history, series, changes);
    return {*changes[0].state};
  }
  DeviceHistory history;
  Series series;
};

double two_weeks_slower(std::size_t day) {
  return day >= 60 && day < 74 ? 1.1 : 1;
}

TEST(ResolvedRegressions, WhatWentBackIsRecovered) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    EXPECT_THAT(SimulatedRuns(100, 0.02, seed, two_weeks_slower).states(), ElementsAre(State::recovered))
        << seed;
  }
}

TEST(ResolvedRegressions, WhatStaysIsOpen) {
  const auto slower = [](std::size_t day) { return day < 60 ? 1 : 1.1; };
  for (unsigned seed = 1; seed <= 50; ++seed) {
    EXPECT_THAT(SimulatedRuns(400, 0.03, seed, slower).states(), ElementsAre(State::open)) << seed;
  }
}

TEST(ResolvedRegressions, AFewRunsAreNotEnough) {
  EXPECT_THAT(SimulatedRuns(74 + 6, 0.01, 1, two_weeks_slower).states(), ElementsAre(State::open));
  EXPECT_THAT(SimulatedRuns(62, 0.01, 1, two_weeks_slower).states(), ElementsAre(State::open));
}

TEST(ResolvedRegressions, RatiosAreComparedWithRatios) {
  SimulatedRuns days(100, 0.01, 1, [](std::size_t day) { return day < 60 ? 1 : 1.1; });
  for (std::size_t day = 74; day < 100; ++day) *days.history.runs[day].reference_copy_ns *= 1.1;
  EXPECT_THAT(days.states("copy"), ElementsAre(State::recovered)) << "the ratio is back";
  EXPECT_THAT(days.states(), ElementsAre(State::open)) << "the time is not";
  for (HistoryRun& run : days.history.runs) run.reference_copy_ns.reset();
  EXPECT_THAT(days.states("copy"), ElementsAre(State::open)) << "nothing is known of it";
}

TEST(ResolvedRegressions, WhatIsNoNumberCountsNothing) {
  SimulatedRuns days(100, 0.01, 1, two_weeks_slower);
  for (std::size_t day = 80; day < 100; ++day) {
    days.series.values[day] = day % 2 == 0 ? std::optional<double>(std::nan("")) : std::nullopt;
  }
  EXPECT_THAT(days.states(), ElementsAre(State::open));
}

}  // namespace
}  // namespace peakmark::trend
