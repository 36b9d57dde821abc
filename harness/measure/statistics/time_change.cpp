#include "measure/statistics/time_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "measure/statistics/rank_statistics.hpp"

namespace peakmark {
namespace {

std::string blocks_error(std::span<const double> blocks, const char* side) {
  if (blocks.empty()) return fmt::format("the {} has no time", side);
  for (const double ns : blocks) {
    if (std::isfinite(ns) && ns > 0) continue;
    return fmt::format("the {} has an invalid block of {} ns", side, ns);
  }
  return {};
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs;
  logs.reserve(values.size());
  for (const double value : values) logs.push_back(std::log(value));
  return logs;
}

bool is_significant(const TimeChange& change, double adjusted_p) {
  return change.p < kSignificance && adjusted_p <= kFalseDiscoveryRate;
}

/// Returns true if the interval reaches the minimum effect in the direction of the estimate.
bool reaches_min_effect(const TimeChange& change) {
  if (!change.interval) return false;
  return change.relative > 0 ? change.interval->high >= change.min_effect
                             : change.interval->low <= -change.min_effect;
}

bool is_within_min_effect(const TimeChange& change) {
  return change.interval && change.interval->low > -change.min_effect &&
         change.interval->high < change.min_effect;
}

}  // namespace

std::string_view to_string(TimeVerdict verdict) {
  switch (verdict) {
    case TimeVerdict::faster:
      return "faster";
    case TimeVerdict::same:
      return "same";
    case TimeVerdict::slower:
      return "slower";
    case TimeVerdict::undecided:
      return "undecided";
    case TimeVerdict::suspicious:
      return "suspicious";
    case TimeVerdict::not_comparable:
      return "not_comparable";
  }
  return "unknown";
}

std::string time_error(std::span<const double> base, std::span<const double> next) {
  const std::string error = blocks_error(base, "base");
  return error.empty() ? blocks_error(next, "new") : error;
}

TimeChange time_change(std::span<const double> base, std::span<const double> next) {
  if (const std::string error = time_error(base, next); !error.empty()) throw std::invalid_argument(error);
  TimeChange change;
  change.base_ns = median(base);
  const Shift shift = hodges_lehmann(logarithms(base), logarithms(next));
  change.relative = std::expm1(shift.estimate);
  change.new_ns = change.base_ns * (1 + change.relative);
  if (shift.interval) {
    change.interval = Interval{std::expm1(shift.interval->low), std::expm1(shift.interval->high)};
  }
  change.p = mann_whitney(base, next).p;
  change.min_effect = std::max(kMinEffect, kMinDifferenceNs / change.base_ns);
  change.base_blocks = base.size();
  change.new_blocks = next.size();
  return change;
}

bool is_candidate(const TimeChange& change) {
  return change.p < kCandidateSignificance &&
         std::abs(change.relative) >= kCandidateEffect * change.min_effect;
}

TimeVerdict judge_time(const TimeChange& change, double adjusted_p, Evidence evidence) {
  if (std::min(change.base_blocks, change.new_blocks) < kMinBlocks) return TimeVerdict::undecided;
  const bool differs = is_significant(change, adjusted_p) && reaches_min_effect(change);
  if (evidence == Evidence::not_interleaved) {
    const bool large = std::abs(change.relative) >= kBetweenJobs;
    return differs && large ? TimeVerdict::suspicious : TimeVerdict::undecided;
  }
  if (differs && evidence == Evidence::one_pass) return TimeVerdict::suspicious;
  if (differs) return change.relative > 0 ? TimeVerdict::slower : TimeVerdict::faster;
  return is_within_min_effect(change) ? TimeVerdict::same : TimeVerdict::undecided;
}

// The interval's width decreases with the square root of the number of blocks.
std::optional<std::size_t> blocks_to_decide(const TimeChange& change) {
  if (!change.interval) return kMinBlocks;
  const double half_width = (change.interval->high - change.interval->low) / 2;
  const double gap = std::abs(change.min_effect - std::abs(change.relative));
  if (!(gap > 0) || !std::isfinite(half_width)) return std::nullopt;
  const auto taken = static_cast<double>(std::min(change.base_blocks, change.new_blocks));
  const double blocks = std::ceil(std::max(1.5 * taken, taken * std::pow(half_width / gap, 2)));
  constexpr double kMaxBlocks = 10'000;  // not practical: too much noise, or too near to the minimum effect
  if (blocks > kMaxBlocks) return std::nullopt;
  return std::max(kMinBlocks, static_cast<std::size_t>(blocks));
}

}  // namespace peakmark
