#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace peakmark::bench {

/// The noise of nightly times, six kinds of it. A time is its level times (1 + e), e of mean about 0; two
/// measurements of one night share a part of e, as docs/statistics.md says for each.
enum class Family { gaussian_1, gaussian_3, heavy_tail, ar1, outliers, two_clocks };
inline constexpr std::array kFamilies{Family::gaussian_1, Family::gaussian_3, Family::heavy_tail,
                                      Family::ar1,        Family::outliers,   Family::two_clocks};
std::string_view to_string(Family family);

/// Random numbers that are the same on every machine: std::mt19937_64 is fixed by the standard, its
/// distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed);
  double uniform();  ///< in (0, 1)
  double normal();   ///< Box–Muller

 private:
  std::mt19937_64 engine_;
};

/// What two measurements of one night share. Of Gaussian noise (of every family that has some): this part of
/// the variance. Of tails and outliers: with this probability the second shares that of the first, else it
/// draws its own. The states of AR(1) and of clocks are shared whole, whatever this is.
inline constexpr double kShared = 0.5;

inline constexpr double kTailShape = 1.0;  ///< σ of the lognormal, standardised to mean 0 and variance 1
inline constexpr double kTailDeviation = 0.02;  ///< its standard deviation
inline constexpr double kArPersistence = 0.6;
inline constexpr double kArDeviation = 0.025;      ///< of the state, which a second measurement shares whole
inline constexpr double kArOwnDeviation = 0.008;   ///< Gaussian, beside it
inline constexpr double kOutlierDeviation = 0.01;  ///< of ordinary nights
inline constexpr double kOutlierProbability = 0.02;
inline constexpr double kOutlierLeast = 0.10;  ///< slower by 10 … 50 %, uniform
inline constexpr double kOutlierMost = 0.50;
inline constexpr double kClockDeviation = 0.01;
inline constexpr double kClockGap = 0.04;    ///< the slow state, over the fast one
inline constexpr double kClockSwitch = 0.1;  ///< probability a night; both states are as frequent

/// Nights of one case, one after the other.
class NoiseSource {
 public:
  NoiseSource(Family family, std::uint64_t seed, double shared = kShared);
  /// Goes to the next night; the factor (about 1) of its first measurement.
  double night();
  /// The factor of a further measurement of the same night.
  double again();

 private:
  double measured(double event);

  Family family_;
  double shared_;
  Random random_;
  bool first_ = true;
  double state_ = 0;   ///< AR(1), or the clock's
  double common_ = 0;  ///< the part of the Gaussian noise that the night's measurements share
  double event_ = 0;   ///< tail or outlier of the first measurement
};

}  // namespace peakmark::bench
