#include "bench/trend/simulation.hpp"

#include <string>

namespace peakmark::bench {

Simulated simulate(Family family, std::uint64_t seed, std::size_t nights, double shared, const Level& level) {
  NoiseSource source(family, seed, shared);
  Simulated simulated;
  for (std::size_t night = 0; night < nights; ++night) {
    const double factor = level ? level(night) : 1;
    simulated.times.push_back(source.night() * factor);
    simulated.again.push_back(source.again() * factor);
  }
  return simulated;
}

trend::DeviceHistory history_of(const Simulated& simulated, bool confirm) {
  trend::DeviceHistory history;
  trend::Series series{"simulated", std::string(trend::metric::gpu_time_ns), {}, {}};
  for (std::size_t night = 0; night < simulated.times.size(); ++night) {
    history.runs.emplace_back().id = std::to_string(night);
    series.values.emplace_back(1e6 * simulated.times[night]);
    if (confirm) series.confirmations.emplace_back(1e6 * simulated.again[night]);
  }
  history.series.push_back(std::move(series));
  return history;
}

std::vector<Alarm> our_alarms(const trend::DeviceHistory& history, std::size_t from,
                              const trend::TrendOptions& options) {
  std::vector<Alarm> alarms;
  for (const trend::Change& change : trend::find_trends(history, options).changes) {
    if (change.verdict == trend::Verdict::suspicious || change.raised < from) continue;
    alarms.push_back({change.raised, change.after > change.before ? 1 : -1});
  }
  return alarms;
}

Level step_of(double part, std::size_t at) {
  return [=](std::size_t night) { return night < at ? 1 : 1 + part; };
}

}  // namespace peakmark::bench
