#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace peakmark {

/// When a timing has seen enough.
struct StoppingOptions {
  std::size_t least_samples = 10;
  std::size_t least_blocks = 9;  ///< what a Mann–Whitney test needs a side
  std::size_t most_blocks = 40;
  /// Enough when the middle half of the block medians lies within this part of their median.
  double relative_spread = 0.01;
  double budget_ns = 0.3e9;  ///< of the host's clock; noisy cases go on until then
  double limit_ns = 3e9;     ///< ends a case too slow for the least number of samples
  std::int64_t most_samples_a_block = 5;
  double blocks_a_budget = 20;  ///< a block takes at most this part of the budget
};

/// Fed with blocks of samples, says when to stop. It knows no device and no clock.
class StoppingRule {
 public:
  explicit StoppingRule(const StoppingOptions& options) : options_(options) {}

  /// One block: its samples in ns a call (at least one), and what the block cost on the host's clock.
  void add(std::span<const double> samples_ns, double cost_ns);
  [[nodiscard]] bool done() const;
  /// (upper quartile − lower quartile) / median of the block medians; infinite before two blocks.
  [[nodiscard]] double relative_spread() const;

 private:
  StoppingOptions options_;
  std::vector<double> medians_;
  std::size_t samples_ = 0;
  double cost_ns_ = 0;
};

/// Shorter than this, the device's clock and the jitter of launches weigh more than the work.
inline constexpr double kMinCpuSampleNs = 100e3;
/// A GPU sample of several calls begins with one launch latency of 2 to 5 us: half a per cent of this.
inline constexpr double kMinGpuSampleNs = 1e6;

/// How the calls of a timing are cut: a sample is `calls` calls timed together, a block `samples` samples.
struct BlockPlan {
  std::int64_t calls = 1;
  std::int64_t samples = 1;
};

/// Groups calls so that a sample lasts at least about `min_sample_ns`, and a block at most its part of the
/// budget, so that the rule is asked often enough. Calls that are timed alone, a call a sample, have a
/// `min_sample_ns` of 0; `call_ns` is then all that a call costs.
BlockPlan plan_blocks(double call_ns, double min_sample_ns, const StoppingOptions& options);

}  // namespace peakmark
