#include "measure/compare/time_comparison.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measure/compare/run_comparison.hpp"
#include "measure/compare/simulated_comparison.hpp"

namespace peakmark {
namespace {

using simulated::Found;
using simulated::Noise;
using simulated::Simulation;
using simulated::Sweep;
using testing::AllOf;
using testing::Ge;
using testing::HasSubstr;
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
            "times of two kinds: base unknown clock, hot, median; new unknown clock, cold, median; measure "
            "both alike "
            "(--cache, marks of the program)");
  EXPECT_TRUE(compared[1]->change);
  hot.cache = cache_state::hot;  // a run file before 1.2 has none: its times were hot
  EXPECT_TRUE(compare_times({{&hot, &hot}}, std::nullopt)[0]->change);

  CaseComparison one;
  one.time = compared[0];
  RunComparison comparison;
  comparison.cases = {one};
  EXPECT_THAT(comparison_table(comparison), HasSubstr("  times not comparable\n"));
  EXPECT_EQ(one.status(), ComparisonStatus::undecided);
}

RunToCompare run_of(const std::vector<double>& blocks_ns, const std::string& commit) {
  RunToCompare run{"run.json", {}};
  run.run.context.commit = commit;
  run.run.context.complete = true;
  Observation one;
  one.case_name = one.variant = "pad";
  std::vector<std::vector<double>> blocks;
  for (const double ns : blocks_ns) blocks.push_back({ns});
  one.gpu_time = summarise_blocks(blocks);
  one.time_source = time_source::device;
  one.bytes_moved = 1'000'000;
  run.run.observations.push_back(std::move(one));
  return run;
}

// By the medians the new run is faster, by the effect it is slower.
TEST(CompareTimes, TimesRatesAndEffectHaveOneDirection) {
  const RunComparison comparison =
      compare_runs(run_of({100, 101, 102, 103, 200, 201, 202, 203, 204}, ""),
                   run_of({110, 111, 112, 113, 199, 301, 302, 303, 304}, ""), false);
  const CaseComparison& one = comparison.cases.at(0);
  const TimeChange& change = *one.time->change;
  ASSERT_GT(change.relative, 0) << "and the median fell from 200 to 199";
  EXPECT_GT(change.new_ns, change.base_ns);
  EXPECT_LT(*one.new_throughput.bytes_per_second, *one.base_throughput.bytes_per_second);
  const auto row = nlohmann::json(comparison_json(comparison)).at("cases").back();
  EXPECT_EQ(row.at("metric"), "gpu_time_ns");
  EXPECT_NEAR(row.at("new").get<double>() / row.at("base").get<double>() - 1,
              row.at("relative").get<double>(), 1e-9);
}

TEST(CompareTimes, TheMarkOfChangedSourcesIsShown) {
  const std::string commit(40, 'a');
  const RunComparison comparison = compare_runs(run_of({100}, commit), run_of({100}, commit + "+"), false);
  EXPECT_THAT(comparison_table(comparison),
              AllOf(HasSubstr("  commit aaaaaaaaaaaa  "), HasSubstr("  commit aaaaaaaaaaaa+  ")));
  EXPECT_THAT(comparison_markdown(comparison), HasSubstr("`" + commit + "+`"));
}

// Smaller versions of the tables in docs/statistics.md.

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
