#include "measure/worker/stopping_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/statistics/rank_statistics.hpp"

namespace peakmark {

namespace {

constexpr std::int64_t kMaxCallsASample = 1000;

}  // namespace

void StoppingRule::add(std::span<const double> samples_ns, double cost_ns) {
  medians_.push_back(quantile({samples_ns.begin(), samples_ns.end()}, 0.5));
  samples_ += samples_ns.size();
  cost_ns_ += cost_ns;
}

double StoppingRule::relative_spread() const {
  if (medians_.size() < 2) return std::numeric_limits<double>::infinity();
  const double median = quantile(medians_, 0.5);
  const double middle_half = quantile(medians_, 0.75) - quantile(medians_, 0.25);
  if (middle_half == 0) return 0;
  return median > 0 ? middle_half / median : std::numeric_limits<double>::infinity();
}

bool StoppingRule::done() const {
  if (cost_ns_ >= options_.limit_ns || medians_.size() >= options_.max_blocks) return true;
  if (samples_ < options_.min_samples || medians_.size() < options_.min_blocks) return false;
  return cost_ns_ >= options_.budget_ns || relative_spread() <= options_.relative_spread;
}

BlockPlan plan_blocks(double call_ns, double min_sample_ns, const StoppingOptions& options) {
  const double call = std::max(call_ns, 1.0);
  BlockPlan plan;
  plan.calls = std::clamp(static_cast<std::int64_t>(std::ceil(min_sample_ns / call)), std::int64_t{1},
                          kMaxCallsASample);
  const double sample = call * static_cast<double>(plan.calls);
  plan.samples = std::clamp(static_cast<std::int64_t>(options.budget_ns / options.blocks_per_budget / sample),
                            std::int64_t{1}, options.max_samples_per_block);
  return plan;
}

}  // namespace peakmark
