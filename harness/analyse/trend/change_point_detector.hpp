#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace peakmark::trend {

/// The noise of one level, on the log scale.
struct Noise {
  double centre = 0;       ///< median
  double spread = 0;       ///< standard deviation of one run, outliers clipped
  double persistence = 0;  ///< correlation of neighbouring runs, 0 … 1, estimated with a margin
};

/// Smaller spreads, as of a counter or a rounded clock, are raised to this one; otherwise tiny steps would be
/// significant.
inline constexpr double kMinSpread = 1e-3;
/// Values are clipped at this many spreads from the centre when spread and persistence are estimated.
inline constexpr double kClip = 2.5;

/// Returns the median of at least one value. Reorders the values.
double median_in_place(std::span<double> values);

/// Whether a spread covers two states of the machine that runs take at random.
enum class States : std::uint8_t { covered, ignored };

/// Estimates the noise of at least 3 finite values in order of time. The spread is the standard deviation of
/// the values clipped at `kClip` times their scaled median absolute deviation, made consistent for Gaussian
/// noise (Huber's proposal in one step). The persistence is the correlation of neighbours among the clipped
/// values plus 0.4 of its standard error 1/√n, at least 0.
///
/// If more than half of the runs are in one of two states, the median absolute deviation covers only that
/// state. So with at least 20 values, they are clipped at `kClip` scaled distances of their first and last
/// decile instead, on two conditions: the spread becomes larger by a fifth, and the values alternate between
/// both sides of the middle at least half as often as independent values would. A step in the history does
/// not alternate. `scratch` has space for as many values.
Noise estimate_noise(std::span<const double> values, std::span<double> scratch, States states);
/// Does the same in linear time. `sorted`: the values in ascending order.
Noise estimate_noise(std::span<const double> values, std::span<const double> sorted,
                     std::span<double> scratch, States states = States::covered);

/// Returns the variance of the mean of `count` neighbours of a stationary AR(1) series of variance 1 and
/// correlation `persistence`: (1/k) (1 + 2 Σ_{j<k} (1 − j/k) φ^j). Box, Jenkins, Reinsel, Time Series
/// Analysis, 2.1.
double variance_of_mean(int count, double persistence);

/// Thresholds of the detector, chosen on the simulated noise of bench/trend with other seeds than those of
/// docs/statistics.md. "Trends" there explains each of them.
struct DetectorOptions {
  std::size_t min_runs = 20;        ///< runs of the first level before changes are reported
  std::size_t baseline_runs = 120;  ///< the runs before that a run is compared with
  double suspicion = 2.6;           ///< the score from which a case is measured a second time in the same run
  double slower = 3.18;             ///< the score of a change to slower
  double faster = 4.6;              ///< the score of a change to faster, which is less urgent
  double back = 3.5;                ///< the score of a change to faster while a regression is open
  double min_effect = 0.019;        ///< smaller steps are never reported
};

/// The result of comparing the last runs with those before. Scores are standard deviations of a normal
/// distribution, positive for slower.
struct Scan {
  bool enough = false;   ///< there are enough runs
  double suspicion = 0;  ///< the largest score of the last 1, 2, 3, … runs
  double score = 0;      ///< the same for 2 and more runs whose ranks agree; decides on changes
  double effect = 0;     ///< of `score`: the step to the median of the new level, on the log scale
  std::size_t runs = 0;  ///< of `score`: the number of runs of the new level
  double before = 0;     ///< of `score`: the former level
};

/// Finds change points in one series of logarithms of times. For any k of 2 … 28, the mean of the last k runs
/// is compared with the mean of the runs before:
/// - values are clipped around the median;
/// - the difference is divided by the spread of a run, corrected for the correlation of neighbours
///   (variance_of_mean) and for the spread being an estimate (Wallace's normal equivalent of t);
/// - the last runs must outrank those before (Mann and Whitney), which holds for any distribution.
/// A change begins a new level. The noise of the former level is used until the new one has enough runs.
class ChangePointDetector {
 public:
  explicit ChangePointDetector(const DetectorOptions& options) : options_(options) {}

  /// Scans the series with `value` as its newest run, without adding it.
  [[nodiscard]] Scan scan(double value) const;
  void add(double value);
  /// Returns the value of a run that was measured twice: the mean, or the value nearer to the level if the
  /// two differ by more than noise explains.
  [[nodiscard]] double settle(double first, double again) const;
  /// Begins a new level with the last `runs` runs.
  void begin_level(std::size_t runs);
  /// Continues the former level with the last `runs` runs. The runs between are kept too, unless they were
  /// far away or lasted longer than a state of the machine does.
  void return_to_former_level(std::size_t runs);
  /// Returns the difference of medians between the last `runs` runs and those before, on the log scale.
  [[nodiscard]] double step(std::size_t runs) const;
  /// Returns the median of the baseline without its last `runs` runs.
  [[nodiscard]] double level_before(std::size_t runs) const;
  /// Returns the noise of the level; null with fewer than 3 runs and no former level.
  [[nodiscard]] std::optional<Noise> noise() const;
  /// Returns true if the level has at least as many runs as a first level needs.
  [[nodiscard]] bool has_min_runs() const { return values_.size() >= options_.min_runs; }

 private:
  static constexpr std::size_t kAll = static_cast<std::size_t>(-1);

  /// Returns the runs that a new one is compared with.
  [[nodiscard]] std::span<const double> baseline() const;
  [[nodiscard]] Noise blended(Noise noise, std::size_t runs) const;
  /// Call it after `values_` or `former_` is replaced.
  void sort_baseline();

  DetectorOptions options_;
  std::vector<double> values_;  ///< of the present level, without old ones that are not needed
  std::vector<double> sorted_;  ///< the baseline in ascending order
  /// Runs since a return to this level. A longer window would find the level in between again.
  std::size_t since_return_ = kAll;
  std::vector<double> former_values_;
  std::optional<Noise> former_;         ///< noise of the level before
  mutable std::optional<Noise> noise_;  ///< of the level, computed on demand; reset after each change
};

}  // namespace peakmark::trend
