// A regression that went as it came, without a night that was sure of it.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

#include "trend/changes.hpp"

namespace peakmark::trend {
namespace {

using testing::ElementsAre;

/// Nights of Gaussian noise, `level` times 1000 ns.
struct SimulatedNights {
  SimulatedNights(std::size_t nights, double noise, unsigned seed,
                  const std::function<double(std::size_t)>& level) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, noise);
    series.metric = metric::gpu_time_ns;
    for (std::size_t night = 0; night < nights; ++night) {
      HistoryRun& run = history.runs.emplace_back();
      run.reference_copy_ns = 100;
      series.values.emplace_back(1000 * level(night) * (1 + normal(random)));
    }
  }
  /// A step of a tenth that was told in its third night, open.
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

double two_weeks_slower(std::size_t night) {
  return night >= 60 && night < 74 ? 1.1 : 1;
}

TEST(GoneRegressions, WhatWentBackIsRecovered) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    EXPECT_THAT(SimulatedNights(100, 0.02, seed, two_weeks_slower).states(), ElementsAre(State::recovered))
        << seed;
  }
}

TEST(GoneRegressions, WhatStaysIsOpen) {
  const auto slower = [](std::size_t night) { return night < 60 ? 1 : 1.1; };
  for (unsigned seed = 1; seed <= 50; ++seed) {
    EXPECT_THAT(SimulatedNights(400, 0.03, seed, slower).states(), ElementsAre(State::open)) << seed;
  }
}

TEST(GoneRegressions, AFewNightsAreNotEnough) {
  EXPECT_THAT(SimulatedNights(74 + 6, 0.01, 1, two_weeks_slower).states(), ElementsAre(State::open));
  EXPECT_THAT(SimulatedNights(62, 0.01, 1, two_weeks_slower).states(), ElementsAre(State::open));
}

TEST(GoneRegressions, RatiosAreHeldAgainstRatios) {
  SimulatedNights nights(100, 0.01, 1, [](std::size_t night) { return night < 60 ? 1 : 1.1; });
  for (std::size_t night = 74; night < 100; ++night) *nights.history.runs[night].reference_copy_ns *= 1.1;
  EXPECT_THAT(nights.states("copy"), ElementsAre(State::recovered)) << "the ratio is back";
  EXPECT_THAT(nights.states(), ElementsAre(State::open)) << "the time is not";
  for (HistoryRun& run : nights.history.runs) run.reference_copy_ns.reset();
  EXPECT_THAT(nights.states("copy"), ElementsAre(State::open)) << "nothing is known of it";
}

TEST(GoneRegressions, WhatIsNoNumberCountsNothing) {
  SimulatedNights nights(100, 0.01, 1, two_weeks_slower);
  for (std::size_t night = 80; night < 100; ++night) {
    nights.series.values[night] = night % 2 == 0 ? std::optional<double>(std::nan("")) : std::nullopt;
  }
  EXPECT_THAT(nights.states(), ElementsAre(State::open));
}

}  // namespace
}  // namespace peakmark::trend
