#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

#include "analyse/trend/trends.hpp"

namespace peakmark::bench {

/// A run in which the detector reports a new level.
struct Alarm {
  std::size_t run = 0;
  int direction = 0;  ///< +1: slower, −1: faster
};

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
/// The families in the tables; `rare_state` has its own row.
inline constexpr std::array kFamilies{Family::gaussian_1, Family::gaussian_3, Family::heavy_tail,
                                      Family::ar1,        Family::outliers,   Family::two_clocks,
                                      Family::bi20,       Family::bimodal};
std::string_view to_string(Family family);

/// Random numbers that are the same on every machine: the C++ standard specifies std::mt19937_64, but not the
/// algorithms of its distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  double uniform();  ///< in (0, 1)
  double normal();   ///< Box–Muller

 private:
  std::mt19937_64 engine_;
};

/// Share of the variance of Gaussian noise that two measurements of one run have in common, and the
/// probability that they share a tail, an outlier or a state of bi20 and bimodal. They always share the
/// states of AR(1) and of clocks.
inline constexpr double kShared = 0.5;

inline constexpr double kTailShape = 1.0;  ///< σ of the lognormal, standardised to mean 0 and variance 1
inline constexpr double kTailDeviation = 0.02;  ///< its standard deviation
inline constexpr double kArPersistence = 0.6;
inline constexpr double kArDeviation = 0.025;      ///< of the state
inline constexpr double kArOwnDeviation = 0.008;   ///< of the Gaussian noise that is added to the state
inline constexpr double kOutlierDeviation = 0.01;  ///< of ordinary runs
inline constexpr double kOutlierProbability = 0.02;
inline constexpr double kMinOutlier = 0.10;  ///< slower by 10 … 50 %, uniform
inline constexpr double kMaxOutlier = 0.50;
inline constexpr double kClockDeviation = 0.01;
inline constexpr double kClockGap = 0.04;    ///< the slow state, over the fast one
inline constexpr double kClockSwitch = 0.1;  ///< probability per run; both states are equally frequent
inline constexpr double kStateDeviation = 0.01;
inline constexpr double kSmallStateGap = 0.2;  ///< of bi20: each run draws one of two states
inline constexpr double kLargeStateGap = 0.9;  ///< of bimodal
/// Probability of the slow state in rare_state; the distance of its states is that of bi20.
inline constexpr double kRareState = 0.1;

/// Draws the noise of one case, one run after the other.
class NoiseSource {
 public:
  NoiseSource(Family family, std::uint64_t seed, double shared = kShared);
  /// Returns the factor (about 1) of the first measurement of the next run.
  double next_run();
  /// Returns the factor of another measurement of the same run.
  double again();

 private:
  double measured(double event);

  Family family_;
  double shared_;
  Random random_;
  bool first_ = true;
  double state_ = 0;   ///< AR(1), or the clock's
  double common_ = 0;  ///< the part of the Gaussian noise that the run's measurements share
  double event_ = 0;   ///< tail, outlier or state of the first measurement
};

/// First and second measurements of the runs of one case.
struct Simulated {
  std::vector<double> times;
  std::vector<double> again;
};

/// Returns the factor by which a run is slower than the first ones.
using Level = std::function<double(std::size_t run)>;

Simulated simulate(Family family, std::uint64_t seed, std::size_t runs, double shared, const Level& level);

/// Returns the history of one case; with second measurements if `confirm`.
trend::DeviceHistory make_history(const Simulated& simulated, bool confirm);

/// Returns the changes that find_trends() reports from run `from` on.
std::vector<Alarm> find_alarms(const trend::DeviceHistory& history, std::size_t from);

/// Returns a level with a relative step of `part` at run `at`.
Level step_level(double part, std::size_t at);

}  // namespace peakmark::bench
