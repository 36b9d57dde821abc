#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace peakmark {

/// How a sum of ranks is distributed when every way to take `taken` of the ranks is as likely: element s is
/// the probability of the sum s. Ranks are integers ≥ 0 (ties: twice the mean rank).
std::vector<double> rank_sum_distribution(std::span<const std::int64_t> ranks, std::size_t taken);

/// P(U = 0), P(U = 1), … of two samples of these sizes without ties.
std::vector<double> u_distribution(std::size_t first, std::size_t second);

/// The distribution takes about this many steps: (values) × (taken) × (largest sum).
double rank_sum_steps(std::size_t values, std::size_t taken);

/// More than this, some milliseconds, and the normal approximation serves. 25 a side are fewer.
inline constexpr double kMaxRankSumSteps = 4e6;

}  // namespace peakmark
