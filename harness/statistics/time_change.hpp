#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "statistics/rank_statistics.hpp"

namespace peakmark {

// How two sides of block medians, taken in turns in one job, become a verdict. docs/comparing.md tells why
// the numbers are what they are, docs/statistics.md what they give.

/// Block medians a side, at least: with fewer, the least p of a rank test, times 1,000 cases, is above
/// kFalseDiscoveryRate.
inline constexpr std::size_t kMinBlocks = 9;
/// A change has a smaller p,
inline constexpr double kSignificance = 0.002;
/// and a p, adjusted over the cases (Benjamini and Hochberg), of at most this,
inline constexpr double kFalseDiscoveryRate = 0.05;
/// and an interval that reaches this part of the base's time: a change as large as that is not ruled out. The
/// estimate itself would miss half of the changes that are exactly as large.
inline constexpr double kMinEffect = 0.03;
/// and this many ns a call: the resolution of CUDA's events is about 0.5 us, and a difference below it lies
/// in the marks and the launch as well as in the work. Above 17 us a call 3 % is more.
inline constexpr double kMinDifferenceNs = 500;
/// The first look only chooses what is measured again: a smaller p,
inline constexpr double kCandidateSignificance = 0.05;
/// and this part of the least effect are enough.
inline constexpr double kCandidateEffect = 0.5;
/// What jobs were seen to differ by, with nothing changed: less says nothing where the sides were not
/// measured in one job.
inline constexpr double kBetweenJobs = 0.15;

struct TimeChange {
  double base_ns = 0;  ///< median of the block medians
  /// base_ns × (1 + relative). The new side's own median is another estimate, and may even lie on the other
  /// side of base_ns.
  double new_ns = 0;
  double relative = 0;               ///< the effect, by Hodges and Lehmann on the logarithms
  std::optional<Interval> interval;  ///< of `relative`, 95 %; none with fewer than 4 blocks a side
  double p = 1;                      ///< of Mann and Whitney, two-sided
  double min_effect = 0;             ///< kMinEffect, or more where kMinDifferenceNs is more
  std::size_t base_blocks = 0;
  std::size_t new_blocks = 0;
};

/// Why no change can be told from these block medians (none, or one that is no finite time above 0, with the
/// side's name); empty where one can.
std::string time_error(std::span<const double> base, std::span<const double> next);

/// std::invalid_argument where there is a time_error().
TimeChange time_change(std::span<const double> base, std::span<const double> next);

/// Whether the first look gives reason for a second.
bool is_candidate(const TimeChange& change);

enum class TimeVerdict { faster, same, slower, undecided, suspicious, not_comparable };
std::string_view to_string(TimeVerdict verdict);

/// How the two sides were measured.
enum class Evidence {
  not_interleaved,   ///< in two jobs, or one after the other: at most `suspicious`
  one_pass,          ///< in turns, and never looked at again: at most `suspicious`
  confirmation_pass  ///< in turns, in blocks of their own after a first look
};

/// `adjusted_p`: over the cases that were judged with this one.
TimeVerdict judge_time(const TimeChange& change, double adjusted_p, Evidence evidence);

/// Blocks a side that would decide, if the noise stays as it is: that bring the interval to one side of the
/// least effect, and at least half more than there are, for an interval that is there already was not enough.
/// Null where no number of them would, since the estimate lies at the effect itself.
std::optional<std::size_t> blocks_to_decide(const TimeChange& change);

}  // namespace peakmark
