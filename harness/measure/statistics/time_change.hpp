#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "measure/statistics/rank_statistics.hpp"

namespace peakmark {

// Judges interleaved block medians of two sides. docs/comparing.md explains the thresholds,
// docs/statistics.md has their error rates.

/// Minimum of block medians per side: with fewer, the smallest p of a rank test times 1,000 cases is above
/// kFalseDiscoveryRate.
inline constexpr std::size_t kMinBlocks = 9;
/// First condition for a change: its p is smaller than this.
inline constexpr double kSignificance = 0.002;
/// Second condition: its p, adjusted over all cases (Benjamini and Hochberg), is at most this.
inline constexpr double kFalseDiscoveryRate = 0.05;
/// Third condition: its interval reaches this share of the base's time, so that a change of this size is
/// possible. If the estimate had to reach it, half of the changes of exactly this size would be missed.
inline constexpr double kMinEffect = 0.03;
/// The interval must also reach this many ns per call: CUDA's events resolve about 0.5 us, and smaller
/// differences may come from the events and the launch. Above 17 us per call, 3 % is more.
inline constexpr double kMinDifferenceNs = 500;
/// The screening pass only selects cases to confirm: a p smaller than this
inline constexpr double kCandidateSignificance = 0.05;
/// and this share of the minimum effect are enough.
inline constexpr double kCandidateEffect = 0.5;
/// Differences of this size were observed between jobs without any change. Smaller ones are not significant
/// unless the sides were interleaved.
inline constexpr double kBetweenJobs = 0.15;

struct TimeChange {
  double base_ns = 0;  ///< median of the block medians
  /// base_ns × (1 + relative). The median of the new side is another estimate: it can even differ from
  /// base_ns in the other direction.
  double new_ns = 0;
  double relative = 0;               ///< the effect, by Hodges and Lehmann on the logarithms
  std::optional<Interval> interval;  ///< of `relative`, 95 %; null with fewer than 4 blocks per side
  double p = 1;                      ///< of Mann and Whitney, two-sided
  double min_effect = 0;             ///< kMinEffect, or kMinDifferenceNs if that is larger
  std::size_t base_blocks = 0;
  std::size_t new_blocks = 0;
};

/// Returns why these block medians cannot be compared (there are none, or one is not finite and above 0);
/// empty if they can.
std::string time_error(std::span<const double> base, std::span<const double> next);

/// Throws std::invalid_argument if time_error() is not empty.
TimeChange time_change(std::span<const double> base, std::span<const double> next);

/// Returns true if the screening pass selects the case for confirmation.
bool is_candidate(const TimeChange& change);

enum class TimeVerdict { faster, same, slower, undecided, suspicious, not_comparable };
std::string_view to_string(TimeVerdict verdict);

/// How the two sides were measured.
enum class Evidence {
  not_interleaved,   ///< in two jobs, or one side after the other: at most `suspicious`
  one_pass,          ///< interleaved, without a confirmation pass: at most `suspicious`
  confirmation_pass  ///< interleaved, in blocks of the confirmation pass
};

/// Judges a change. `adjusted_p`: over all cases judged together.
TimeVerdict judge_time(const TimeChange& change, double adjusted_p, Evidence evidence);

/// Returns the number of blocks per side that would decide at the same noise: it moves the interval to one
/// side of the minimum effect, and is at least 1.5 × the present number. Null if no number would, because the
/// estimate is too near to the minimum effect.
std::optional<std::size_t> blocks_to_decide(const TimeChange& change);

}  // namespace peakmark
