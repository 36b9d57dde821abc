#include "compare/time_comparison.hpp"

#include <gmock/gmock.h>

#include "compare/case_lines.hpp"
#include "compare/simulated_sides.hpp"

namespace peakmark {
namespace {

using simulated::Found;
using simulated::Noise;
using simulated::Simulation;
using simulated::Sweep;
using testing::Ge;
using testing::Le;

TEST(CompareTimes, ColdAndHotTimesAreNotComparable) {
  Observation hot;
  hot.gpu_time = summarise_blocks(std::vector<std::vector<double>>(9, {1e6, 1.01e6}));
  Observation cold = hot;
  cold.gpu_time = summarise_blocks(std::vector<std::vector<double>>(9, {2e6, 2.01e6}));
  cold.cache = cache_state::cold;
  const auto compared = compare_times({{&hot, &cold}, {&cold, &cold}, {&hot, &hot}}, std::nullopt);
  EXPECT_EQ(compared[0]->verdict, TimeVerdict::not_comparable);
  EXPECT_FALSE(compared[0]->change);
  EXPECT_EQ(compared[0]->advice,
            "the base's times are hot, the new ones cold: measure both with the same --cache");
  EXPECT_TRUE(compared[1]->change);
  hot.cache = cache_state::hot;  // a run file before 1.2 has none: its times were hot
  EXPECT_TRUE(compare_times({{&hot, &hot}}, std::nullopt)[0]->change);

  CaseComparison one;
  one.time = compared[0];
  EXPECT_EQ(verdict_text(one), "times not comparable");
  EXPECT_EQ(standing_of(one), Standing::undecided);
}

// Small ones of the tables in docs/statistics.md.

TEST(SimulatedSides, OfNoDifferenceRaiseNoAlarm) {
  for (const Noise noise :
       {Noise::gaussian, Noise::heavy_tail, Noise::drift, Noise::outliers, Noise::clock_states}) {
    Sweep sweep;
    sweep.noise = noise;
    sweep.deviation = 0.03;
    EXPECT_THAT(Simulation(sweep).run().false_alarms, Le(1)) << static_cast<int>(noise);
  }
}

TEST(SimulatedSides, ThreePercentAreFoundThroughOnePercentOfNoise) {
  Sweep sweep;
  sweep.cases = 400;
  sweep.planted = 200;
  for (const double effect : {0.03, -0.03}) {
    sweep.effect = effect;
    const Found found = Simulation(sweep).run();
    EXPECT_THAT(found.found, Ge(190)) << effect;
    EXPECT_THAT(found.false_alarms, Le(1));
    EXPECT_THAT(found.same, Ge(190));
  }
}

TEST(SimulatedSides, ALoneChangeAmongAThousandCasesIsFound) {
  int found = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Sweep sweep;
    sweep.seed = seed;
    sweep.effect = 0.05;
    sweep.planted = 1;
    found += Simulation(sweep).run().found;
  }
  EXPECT_EQ(found, 10);
}

}  // namespace
}  // namespace peakmark
