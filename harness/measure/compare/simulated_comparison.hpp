#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "measure/compare/time_comparison.hpp"
#include "measure/runfile/case_pairs.hpp"

// Simulates both passes of a comparison with known effects, for tests and for the tables of
// docs/statistics.md.
namespace peakmark::simulated {

/// Noise of a block's median.
enum class Noise {
  gaussian,     ///< log-normal with this deviation
  heavy_tail,   ///< Student's t with 3 degrees of freedom, scaled to this deviation
  drift,        ///< half of the variance is an AR(1) process of 0.8 over the rounds, common to both sides
  outliers,     ///< gaussian, and every twentieth block 10 to 50 % longer
  clock_states  ///< gaussian, and each round has a fast or a 5 % slower state, common to both sides
};

struct Sweep {
  int cases = 1000;
  int rounds = 9;
  Noise noise = Noise::gaussian;
  double deviation = 0.01;
  double effect = 0;  ///< of the new side, relative
  int planted = 0;    ///< cases with the effect; the others have none
  double base_ns = 1e6;
  std::uint64_t seed = 1;
};

struct Found {
  int candidates = 0;  ///< pairs in the confirmation pass
  int false_alarms = 0;
  int found = 0;  ///< planted cases with the right verdict
  int same = 0;   ///< cases without an effect and with verdict `same`
};

class Simulation {
 public:
  explicit Simulation(const Sweep& sweep) : sweep_(sweep), random_(sweep.seed) {}

  Found run() {
    std::vector<Observation> base;
    std::vector<Observation> next;
    for (int i = 0; i < sweep_.cases; ++i) {
      base.push_back(named("old", i));
      next.push_back(named("new", i));
      add_pass(base.back(), next.back(), i, 1);
    }
    Rounds rounds{
        "simulated", sweep_.rounds, sweep_.seed, std::pair<std::string, std::string>("old", "new"), true, {}};
    std::vector<std::string>& chosen = rounds.confirmation_pass.emplace();
    std::vector<const Observation*> base_places;
    std::vector<const Observation*> new_places;
    for (int i = 0; i < sweep_.cases; ++i) {
      base_places.push_back(&base[i]);
      new_places.push_back(&next[i]);
    }
    for (const auto& [before, after] : candidates(base_places, new_places, rounds, PairBy::axes)) {
      chosen.push_back(before);
      chosen.push_back(after);
      const int i = std::stoi(after.substr(4));
      add_pass(base[i], next[i], i, 2);
    }
    std::vector<TimePair> pairs;
    for (int i = 0; i < sweep_.cases; ++i) pairs.push_back({&base[i], &next[i]});
    return count(compare_times(pairs, rounds), static_cast<int>(chosen.size() / 2));
  }

 private:
  static Observation named(const std::string& variant, int i) {
    Observation one;
    one.variant = variant;
    one.backend = "dry";
    one.case_name = variant + "/" + std::to_string(i);
    one.axes = Parameters({{"n", Size{i}}});
    one.time_source = time_source::device;
    return one;
  }

  double normal() { return std::normal_distribution<double>()(random_); }

  double own_noise() {
    const double spread = sweep_.deviation;
    switch (sweep_.noise) {
      case Noise::heavy_tail:
        return spread / std::sqrt(3.0) * std::student_t_distribution<double>(3)(random_);
      case Noise::drift:
        return spread * std::sqrt(0.5) * normal();
      case Noise::outliers: {
        const bool is_outlier = random_() % 20 == 0;
        const double longer = is_outlier ? std::uniform_real_distribution<double>(0.1, 0.5)(random_) : 0;
        return spread * normal() + longer;
      }
      default:
        return spread * normal();
    }
  }

  /// Returns the noise of each round, common to both sides.
  std::vector<double> common_noise() {
    std::vector<double> values(sweep_.rounds, 0.0);
    double state = normal();
    for (double& value : values) {
      if (sweep_.noise == Noise::drift) value = sweep_.deviation * std::sqrt(0.5) * state;
      if (sweep_.noise == Noise::clock_states && random_() % 2 == 0) value = 0.05;
      state = 0.8 * state + 0.6 * normal();
    }
    return values;
  }

  void add_pass(Observation& base, Observation& next, int i, int pass) {
    const std::vector<double> common = common_noise();
    const double effect = i < sweep_.planted ? std::log1p(sweep_.effect) : 0;
    for (int round = 0; round < sweep_.rounds; ++round) {
      const int number = (pass - 1) * sweep_.rounds + round + 1;
      add_block(base, common[round] + own_noise(), number);
      add_block(next, common[round] + own_noise() + effect, number);
    }
  }

  void add_block(Observation& one, double log_deviation, int round) const {
    if (!one.gpu_time) one.gpu_time.emplace().rounds.emplace();
    one.gpu_time->blocks.push_back({sweep_.base_ns * std::exp(log_deviation)});
    one.gpu_time->rounds->push_back(round);
  }

  [[nodiscard]] Found count(const std::vector<std::optional<TimeComparison>>& compared,
                            int candidates) const {
    Found found;
    found.candidates = candidates;
    const TimeVerdict right = sweep_.effect < 0 ? TimeVerdict::faster : TimeVerdict::slower;
    for (int i = 0; i < sweep_.cases; ++i) {
      const TimeVerdict verdict = compared[i]->verdict;
      const bool flagged = verdict == TimeVerdict::slower || verdict == TimeVerdict::faster;
      if (i < sweep_.planted) {
        found.found += verdict == right ? 1 : 0;
      } else {
        found.false_alarms += flagged ? 1 : 0;
        found.same += verdict == TimeVerdict::same ? 1 : 0;
      }
    }
    return found;
  }

  Sweep sweep_;
  std::mt19937_64 random_;
};

}  // namespace peakmark::simulated
