#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "analyse/trend/trends.hpp"

namespace peakmark::bench {

/// Random numbers that are the same on every machine: the C++ standard specifies std::mt19937_64, but not the
/// algorithms of its distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
    engine_.seed(sequence);
  }
  double uniform() { return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53; }  ///< in (0, 1)
  double normal() {                                                                     ///< Box–Muller
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * M_PI * uniform());
  }

 private:
  std::mt19937_64 engine_;
};

/// Share of the variance of Gaussian noise that two measurements of one run have in common, and the
/// probability that they share an event. They always share the states of AR(1) and of clocks.
inline constexpr double kShared = 0.5;

inline constexpr double kArPersistence = 0.6;
inline constexpr double kArDeviation = 0.025;  ///< of the state
inline constexpr double kClockGap = 0.04;      ///< the slow state, over the fast one
inline constexpr double kClockSwitch = 0.1;    ///< probability per run; both states are equally frequent

/// A lognormal tail with mean 0 and a standard deviation of 2 %.
inline double tail(Random& random) {
  constexpr double kShape = 1;
  const double mean = std::exp(kShape * kShape / 2);
  const double deviation = mean * std::sqrt(std::exp(kShape * kShape) - 1);
  return 0.02 * (std::exp(kShape * random.normal()) - mean) / deviation;
}
/// In 2 % of the runs slower by 10 … 50 %, uniform.
inline double outlier(Random& random) {
  return random.uniform() >= 0.02 ? 0 : 0.10 + 0.40 * random.uniform();
}
/// A slow state that each run draws by itself.
template <int kPercentSlower, int kPercentOfRuns>
double slow_state(Random& random) {
  return random.uniform() < kPercentOfRuns / 100.0 ? kPercentSlower / 100.0 : 0;
}

/// Families of noise. A time is its level times (1 + e), with e of mean about 0. Two measurements of one run
/// share a part of e (docs/statistics.md).
enum class Family {
  gaussian_1,
  gaussian_3,
  heavy_tail,
  ar1,
  outliers,
  two_clocks,
  bi20,
  bimodal,
  rare_state
};
struct Noise {
  const char* name;
  double deviation;                    ///< of the Gaussian noise
  double (*event)(Random&) = nullptr;  ///< what a run adds to the time independently of the runs before it
};
inline constexpr std::array kNoises{Noise{"gaussian_1", 0.01},
                                    Noise{"gaussian_3", 0.03},
                                    Noise{"heavy_tail", 0, tail},
                                    Noise{"ar1", 0.008},  // and its state
                                    Noise{"outliers", 0.01, outlier},
                                    Noise{"two_clocks", 0.01},  // and the clock's state
                                    Noise{"bi20", 0.01, slow_state<20, 50>},
                                    Noise{"bimodal", 0.01, slow_state<90, 50>},
                                    Noise{"rare_state", 0.01, slow_state<20, 10>}};
constexpr const Noise& noise_of(Family family) {
  return kNoises[static_cast<std::size_t>(family)];
}
/// The families in the tables; `rare_state` has its own row.
inline constexpr std::array kFamilies{Family::gaussian_1, Family::gaussian_3, Family::heavy_tail,
                                      Family::ar1,        Family::outliers,   Family::two_clocks,
                                      Family::bi20,       Family::bimodal};

/// Draws the noise of one case, one run after the other.
class NoiseSource {
 public:
  NoiseSource(Family family, std::uint64_t seed, double shared)
      : family_(family), shared_(shared), random_(seed) {}

  /// Returns the factor (about 1) of the first measurement of the next run.
  double next_run() {
    common_ = std::sqrt(shared_) * random_.normal();
    if (family_ == Family::ar1) {
      const double step = first_ ? 1 : std::sqrt(1 - kArPersistence * kArPersistence);
      state_ = (first_ ? 0 : kArPersistence * state_) + step * kArDeviation * random_.normal();
    }
    if (family_ == Family::two_clocks) {
      const bool slow = first_ ? random_.uniform() < 0.5 : (state_ > 0) != (random_.uniform() < kClockSwitch);
      state_ = slow ? kClockGap : 0;
    }
    first_ = false;
    event_ = event();
    return measured(event_);
  }

  /// Returns the factor of another measurement of the same run. It shares the event of the first, or draws
  /// its own.
  double again() {
    const bool draws = noise_of(family_).event != nullptr && random_.uniform() >= shared_;
    return measured(draws ? event() : event_);
  }

 private:
  double event() {
    const auto draw = noise_of(family_).event;
    return draw != nullptr ? draw(random_) : 0;
  }
  double measured(double event) {
    const double own = std::sqrt(1 - shared_) * random_.normal();
    return 1 + noise_of(family_).deviation * (common_ + own) + state_ + event;
  }

  Family family_;
  double shared_;
  Random random_;
  bool first_ = true;
  double state_ = 0;   ///< AR(1), or the clock's
  double common_ = 0;  ///< the part of the Gaussian noise that the run's measurements share
  double event_ = 0;   ///< of the first measurement
};

/// First and second measurements of the runs of one case.
struct Simulated {
  std::vector<double> times;
  std::vector<double> again;
};

/// Returns the factor by which a run is slower than the first ones.
using Level = std::function<double(std::size_t run)>;

inline Simulated simulate(Family family, std::uint64_t seed, std::size_t runs, double shared,
                          const Level& level) {
  NoiseSource source(family, seed, shared);
  Simulated simulated;
  for (std::size_t run = 0; run < runs; ++run) {
    const double factor = level ? level(run) : 1;
    simulated.times.push_back(source.next_run() * factor);
    simulated.again.push_back(source.again() * factor);
  }
  return simulated;
}

/// Returns the history of one case; with second measurements if `confirm`.
inline trend::DeviceHistory make_history(const Simulated& simulated, bool confirm) {
  trend::DeviceHistory history;
  trend::Series series{"simulated", std::string(trend::metric::gpu_time_ns), {}, {}};
  for (std::size_t run = 0; run < simulated.times.size(); ++run) {
    history.runs.emplace_back().id = std::to_string(run);
    series.values.emplace_back(1e6 * simulated.times[run]);
    if (confirm) series.confirmations.emplace_back(1e6 * simulated.again[run]);
  }
  history.series.push_back(std::move(series));
  return history;
}

}  // namespace peakmark::bench
