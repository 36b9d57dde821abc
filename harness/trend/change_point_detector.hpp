#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "trend/noise.hpp"

namespace peakmark::trend {

/// What the detector believes. Chosen on the simulated noise of bench/trend, on seeds apart from those that
/// docs/statistics.md reports; "Trends" there says what each buys.
struct WatchOptions {
  std::size_t least_nights = 20;      ///< of a first level, before anything is told
  std::size_t baseline_nights = 120;  ///< the nights before that tonight is held against
  double suspicion = 2.6;             ///< the score from which a case is measured again in the same night
  double slower = 3.18;               ///< the score of a change to slower
  double faster = 4.6;                ///< to faster: less urgent, so told later and surer
  double back = 3.5;                  ///< to faster, while a regression is open
  double least_effect = 0.019;        ///< a smaller step is no news, however sure
};

/// What the last nights look like against those before. Scores are in standard deviations, as of a normal
/// distribution, positive where slower.
struct Look {
  bool enough = false;     ///< there are nights enough to look at all
  double suspicion = 0;    ///< the largest score of the last 1, 2, 3, … nights
  double score = 0;        ///< the same of 2 and more, where ranks agree: what a change is told from
  double effect = 0;       ///< of `score`: the step to the median of the new level, on the log scale
  std::size_t nights = 0;  ///< of `score`: how many nights the new level has
  double before = 0;       ///< of `score`: the former level
};

/// A scan over one series: is the mean of the last k nights another than that of the nights before, for any k
/// of 2 … 28? Values are logarithms of times. Both means are taken of values clipped about the median; their
/// difference is held against the spread of a night, corrected for the correlation of neighbours
/// (variance_of_mean) and for the spread's being an estimate (Wallace's normal equivalent of t); and the last
/// nights must outrank those before (the statistic of Mann and Whitney), which holds for any distribution
/// where a spread says little. After a change the level starts anew; the noise of the former serves until
/// there are nights enough.
class ChangePointDetector {
 public:
  explicit ChangePointDetector(const WatchOptions& options) : options_(options) {}

  /// How tonight looks with this value, which add() may then add, or another.
  [[nodiscard]] Look look(double value) const;
  void add(double value) {
    values_.push_back(value);
    if (since_return_ != kAll) ++since_return_;
  }
  /// What a night counts for that was measured twice: the mean; where the two are too far apart to be of one
  /// night's noise, the one nearer to the level so far, since something struck the other.
  [[nodiscard]] double settle(double first, double again) const;
  /// The last `nights` nights are a level of their own, from here on the only one.
  void begin_level(std::size_t nights);
  /// The last `nights` nights are back at the level before the present one: they go on with its nights. Those
  /// between are kept too, unless they were far away, or more than a state of the machine lasts: should the
  /// return be an error, they would pass for the level.
  void return_to_former_level(std::size_t nights);
  /// How far the last `nights` nights (tonight's value among them) lie from those before: medians, log scale.
  [[nodiscard]] double step(std::size_t nights) const;
  /// The median of the nights before the last `nights`, of the baseline.
  [[nodiscard]] double level_before(std::size_t nights) const;
  /// Noise of the level so far; null below 3 nights without a former level.
  [[nodiscard]] std::optional<Noise> noise() const;
  [[nodiscard]] std::size_t nights() const { return values_.size(); }

 private:
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  /// Of the nights that tonight is held against.
  [[nodiscard]] std::span<const double> baseline() const;
  [[nodiscard]] Noise blended(Noise noise, std::size_t nights) const;

  WatchOptions options_;
  std::vector<double> values_;  ///< of the present level
  /// The nights of it since it was returned to; a window that reached further back would tell again of the
  /// level that came and went.
  std::size_t since_return_ = kAll;
  std::vector<double> former_values_;
  std::optional<Noise> former_;  ///< noise of the level before
  mutable std::vector<double> scratch_;
};

}  // namespace peakmark::trend
