#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "bench/trend/noise_families.hpp"
#include "bench/trend/peers.hpp"
#include "harness/trend/trends.hpp"

namespace peakmark::bench {

/// Nights of one case: what was measured, and what a second measurement of the night would have given.
struct Simulated {
  std::vector<double> times;
  std::vector<double> again;
};

/// The factor by which a night is slower than the first ones.
using Level = std::function<double(std::size_t night)>;

Simulated simulate(Family family, std::uint64_t seed, std::size_t nights, double shared, const Level& level);

/// One case's history; without second measurements unless `confirm`.
trend::DeviceHistory history_of(const Simulated& simulated, bool confirm);

/// What `find_trends()` raises from night `from` on.
std::vector<Alarm> our_alarms(const trend::DeviceHistory& history, std::size_t from,
                              const trend::TrendOptions& options = {});

/// A step at night `at`, of this part.
Level step_of(double part, std::size_t at);

}  // namespace peakmark::bench
