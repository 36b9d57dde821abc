#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace peakmark {

/// The conditions under which a timing stops.
struct StoppingOptions {
  std::size_t min_samples = 10;
  std::size_t min_blocks = 9;  ///< a Mann–Whitney test needs 9 per side
  std::size_t max_blocks = 40;
  /// Stops when the interquartile range of the block medians is within this share of their median.
  double relative_spread = 0.01;
  double budget_ns = 0.3e9;  ///< host time; noisy cases continue until then
  double limit_ns = 3e9;     ///< host time; ends cases that are too slow for min_samples
  std::int64_t max_samples_per_block = 5;
  double blocks_per_budget = 20;  ///< a block takes at most 1/blocks_per_budget of the budget
};

/// Decides from blocks of samples when to stop. Uses no device and no clock.
class StoppingRule {
 public:
  explicit StoppingRule(const StoppingOptions& options) : options_(options) {}

  /// Adds a block: its samples in ns per call (at least one), and the host time of the block.
  void add(std::span<const double> samples_ns, double cost_ns);
  [[nodiscard]] bool done() const;
  /// Returns (upper quartile − lower quartile) / median of the block medians; infinite with fewer than two
  /// blocks.
  [[nodiscard]] double relative_spread() const;

 private:
  StoppingOptions options_;
  std::vector<double> medians_;
  std::size_t samples_ = 0;
  double cost_ns_ = 0;
};

/// Below this, the resolution of the device's clock and the jitter of launches dominate a CPU sample.
inline constexpr double kMinCpuSampleNs = 100e3;
/// A GPU sample of several calls includes one launch latency of 2 to 5 us: half a percent of this time.
inline constexpr double kMinGpuSampleNs = 1e6;

/// How the calls of a timing are grouped: a sample is `calls` calls that are timed together, a block is
/// `samples` samples.
struct BlockPlan {
  std::int64_t calls = 1;
  std::int64_t samples = 1;
};

/// Groups calls so that a sample takes at least about `min_sample_ns`, and a block at most its share of the
/// budget, so that the stopping rule is applied often enough. If each call is timed separately,
/// `min_sample_ns` is 0 and `call_ns` includes all costs of a call.
BlockPlan plan_blocks(double call_ns, double min_sample_ns, const StoppingOptions& options);

}  // namespace peakmark
