#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sweep/parameters.hpp"

namespace peakmark {
inline namespace api_1 {
class Worker;
}

/// The device's time of one call of each variant in each block, in ns: [variant][block].
class Turns {
 public:
  explicit Turns(std::size_t variants) : ns_(variants) {}
  void add(std::size_t variant, double ns) { ns_[variant].push_back(ns); }
  /// The median over the blocks.
  [[nodiscard]] double median_ns(std::size_t variant) const;
  /// The time of a variant over that of the first within a block: the quantile q over the blocks.
  [[nodiscard]] double over_first(std::size_t variant, double q = 0.5) const;

 private:
  std::vector<std::vector<double>> ns_;
};

/// Makes a case of each of the named `variants` that `add` adds, with the axes that `set` sets, and verifies
/// an answer. Then each iteration is a block: one call of each, one after the other, so that all see the same
/// machine, on inputs that were restored outside the timer. The iteration's time is that of the second
/// variant, and so are the counters `ratio`, its `over_first`, and `spread`, the relative width of the middle
/// half of that. Nothing, and the benchmark is skipped with an error, where an answer is wrong.
std::optional<Turns> time_interleaved(benchmark::State& state, void (*add)(Worker&),
                                      const std::vector<std::string>& variants,
                                      const std::function<void(Parameters&)>& set);

}  // namespace peakmark
