// Measures how `compare` judges simulated times: false alarms if the sides are equal, and how often it finds
// a planted slowdown. Prints the tables of docs/statistics.md, section "Comparing". Needs no device.
//   compare_simulated [SEED]
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "base/text.hpp"
#include "measure/compare/simulated_comparison.hpp"

namespace {

using namespace peakmark::simulated;

struct Family {
  const char* name;
  Noise noise;
  double deviation;
};

const std::vector<Family> kFamilies{
    {"Gaussian 1 %", Noise::gaussian, 0.01},
    {"Gaussian 3 %", Noise::gaussian, 0.03},
    {"Gaussian 10 %", Noise::gaussian, 0.10},
    {"heavy tail 3 %", Noise::heavy_tail, 0.03},
    {"drift 3 %", Noise::drift, 0.03},
    {"outliers, 1 %", Noise::outliers, 0.01},
    {"clock states, 1 %", Noise::clock_states, 0.01},
};

/// Returns a different seed for each sweep of a run.
std::uint64_t next_seed(std::uint64_t seed) {
  static std::uint64_t sweeps = 0;
  return seed * 1'000'000 + ++sweeps;
}

void print_false_alarms(std::uint64_t seed) {
  fmt::print("A against A: 10 sweeps of 1,000 cases, 9 rounds per pass, seed {}\n\n", seed);
  fmt::print(
      "| noise of a block | in confirmation pass | flagged of 10,000 | reported as same "
      "|\n|---|---:|---:|---:|\n");
  for (const Family& family : kFamilies) {
    Found sum;
    for (std::uint64_t repeat = 0; repeat < 10; ++repeat) {
      Sweep sweep;
      sweep.noise = family.noise;
      sweep.deviation = family.deviation;
      sweep.seed = next_seed(seed);
      const Found found = Simulation(sweep).run();
      sum.candidates += found.candidates;
      sum.false_alarms += found.false_alarms;
      sum.same += found.same;
    }
    fmt::print("| {} | {} | {} | {:.1f} % |\n", family.name, sum.candidates, sum.false_alarms,
               sum.same / 100.0);
    std::fflush(stdout);
  }
}

void print_found(std::uint64_t seed, int rounds, int planted) {
  const std::vector<double> effects{0.01, 0.02, 0.025, 0.03, 0.04, 0.05, 0.10, 0.20};
  fmt::print("\nA planted slowdown, found of 1,000: {} of 1,000 cases have it, {} rounds per pass\n\n",
             planted, rounds);
  fmt::print("| noise of a block |");
  for (const double effect : effects) fmt::print(" +{:g} % |", 100 * effect);
  fmt::print(" false alarms |\n|---|");
  for (std::size_t i = 0; i <= effects.size(); ++i) fmt::print("---:|");
  fmt::print("\n");
  for (const Family& family : kFamilies) {
    fmt::print("| {} |", family.name);
    int false_alarms = 0;
    int others = 0;
    for (const double effect : effects) {
      int found = 0;
      for (int repeat = 0; repeat < 1000 / planted; ++repeat) {
        Sweep sweep;
        sweep.noise = family.noise;
        sweep.deviation = family.deviation;
        sweep.rounds = rounds;
        sweep.effect = effect;
        sweep.planted = planted;
        sweep.seed = next_seed(seed);
        const Found one = Simulation(sweep).run();
        found += one.found;
        false_alarms += one.false_alarms;
        others += sweep.cases - planted;
      }
      fmt::print(" {:.1f} % |", found / 10.0);
    }
    fmt::print(" {} of {} |\n", false_alarms, others);
    std::fflush(stdout);
  }
}

/// One of 1,000 cases is slower. This is the hardest case for the correction for multiple comparisons.
void print_single(std::uint64_t seed) {
  constexpr int kSweeps = 200;
  fmt::print("\nA single slowdown among 1,000 cases, Gaussian noise, {} sweeps\n\n", kSweeps);
  fmt::print("| noise of a block | rounds per pass | slowdown | found | false alarms of {} |\n",
             kSweeps * 999);
  fmt::print("|---|---:|---:|---:|---:|\n");
  struct Row {
    double deviation;
    double effect;
    int rounds;
  };
  for (const Row& row : {Row{0.01, 0.03, 9}, {0.01, 0.05, 9}, {0.03, 0.10, 9}, {0.01, 0.03, 15}}) {
    Found sum;
    for (int repeat = 0; repeat < kSweeps; ++repeat) {
      Sweep sweep;
      sweep.deviation = row.deviation;
      sweep.effect = row.effect;
      sweep.rounds = row.rounds;
      sweep.planted = 1;
      sweep.seed = next_seed(seed);
      const Found found = Simulation(sweep).run();
      sum.found += found.found;
      sum.false_alarms += found.false_alarms;
    }
    fmt::print("| {:g} % | {} | +{:g} % | {:.1f} % | {} |\n", 100 * row.deviation, row.rounds,
               100 * row.effect, sum.found * 100.0 / kSweeps, sum.false_alarms);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto given = peakmark::parse_number<std::uint64_t>(argc > 1 ? argv[1] : "1");
  if (!given || argc > 2) {
    std::fputs("usage: compare_simulated [SEED]\n", stderr);
    return 2;
  }
  const std::uint64_t seed = *given;
  print_false_alarms(seed);
  print_found(seed, 9, 250);
  print_found(seed, 15, 250);
  print_single(seed);
}
