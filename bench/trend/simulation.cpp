#include "bench/trend/simulation.hpp"

#include <cmath>
#include <string>

namespace peakmark::bench {

std::string_view to_string(Family family) {
  switch (family) {
    case Family::gaussian_1:
      return "gaussian_1";
    case Family::gaussian_3:
      return "gaussian_3";
    case Family::heavy_tail:
      return "heavy_tail";
    case Family::ar1:
      return "ar1";
    case Family::outliers:
      return "outliers";
    case Family::two_clocks:
      return "two_clocks";
    case Family::bi20:
      return "bi20";
    case Family::bimodal:
      return "bimodal";
    case Family::rare_state:
      return "rare_state";
  }
  return "";
}

Random::Random(std::uint64_t seed) {
  std::seed_seq sequence{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U)};
  engine_.seed(sequence);
}

double Random::uniform() {
  return (static_cast<double>(engine_() >> 11U) + 0.5) * 0x1p-53;
}

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * M_PI * uniform());
}

NoiseSource::NoiseSource(Family family, std::uint64_t seed, double shared)
    : family_(family), shared_(shared), random_(seed) {}

namespace {

double gaussian_deviation(Family family) {
  switch (family) {
    case Family::gaussian_1:
      return 0.01;
    case Family::gaussian_3:
      return 0.03;
    case Family::heavy_tail:
      return 0;
    case Family::ar1:
      return kArOwnDeviation;
    case Family::outliers:
      return kOutlierDeviation;
    case Family::two_clocks:
      return kClockDeviation;
    case Family::bi20:
    case Family::bimodal:
    case Family::rare_state:
      return kStateDeviation;
  }
  return 0;
}

/// Mean 0, variance kTailDeviation².
double tail(Random& random) {
  const double square = kTailShape * kTailShape;
  const double mean = std::exp(square / 2);
  const double deviation = mean * std::sqrt(std::exp(square) - 1);
  return kTailDeviation * (std::exp(kTailShape * random.normal()) - mean) / deviation;
}

double outlier(Random& random) {
  if (random.uniform() >= kOutlierProbability) return 0;
  return kMinOutlier + (kMaxOutlier - kMinOutlier) * random.uniform();
}

/// Returns what a run adds to the time independently of the runs before it.
double event(Family family, Random& random) {
  switch (family) {
    case Family::heavy_tail:
      return tail(random);
    case Family::outliers:
      return outlier(random);
    case Family::bi20:
      return random.uniform() < 0.5 ? kSmallStateGap : 0;
    case Family::bimodal:
      return random.uniform() < 0.5 ? kLargeStateGap : 0;
    case Family::rare_state:
      return random.uniform() < kRareState ? kSmallStateGap : 0;
    default:
      return 0;
  }
}

bool has_events(Family family) {
  return family == Family::heavy_tail || family == Family::outliers || family == Family::bi20 ||
         family == Family::bimodal || family == Family::rare_state;
}

}  // namespace

double NoiseSource::next_run() {
  common_ = std::sqrt(shared_) * random_.normal();
  if (family_ == Family::ar1) {
    const double step = first_ ? 1 : std::sqrt(1 - kArPersistence * kArPersistence);
    state_ = (first_ ? 0 : kArPersistence * state_) + step * kArDeviation * random_.normal();
  }
  if (family_ == Family::two_clocks) {
    const bool slow = first_ ? random_.uniform() < 0.5 : (state_ > 0) != (random_.uniform() < kClockSwitch);
    state_ = slow ? kClockGap : 0;
  }
  first_ = false;
  event_ = event(family_, random_);
  return measured(event_);
}

double NoiseSource::again() {
  // The second measurement shares the event of the first, or draws its own.
  const bool draws = has_events(family_) && random_.uniform() >= shared_;
  return measured(draws ? event(family_, random_) : event_);
}

double NoiseSource::measured(double event) {
  const double own = std::sqrt(1 - shared_) * random_.normal();
  return 1 + gaussian_deviation(family_) * (common_ + own) + state_ + event;
}

Simulated simulate(Family family, std::uint64_t seed, std::size_t runs, double shared, const Level& level) {
  NoiseSource source(family, seed, shared);
  Simulated simulated;
  for (std::size_t run = 0; run < runs; ++run) {
    const double factor = level ? level(run) : 1;
    simulated.times.push_back(source.next_run() * factor);
    simulated.again.push_back(source.again() * factor);
  }
  return simulated;
}

trend::DeviceHistory make_history(const Simulated& simulated, bool confirm) {
  trend::DeviceHistory history;
  trend::Series series{"simulated", std::string(trend::metric::gpu_time_ns), {}, {}};
  for (std::size_t run = 0; run < simulated.times.size(); ++run) {
    history.runs.emplace_back().id = std::to_string(run);
    series.values.emplace_back(1e6 * simulated.times[run]);
    if (confirm) series.confirmations.emplace_back(1e6 * simulated.again[run]);
  }
  history.series.push_back(std::move(series));
  return history;
}

std::vector<Alarm> find_alarms(const trend::DeviceHistory& history, std::size_t from) {
  std::vector<Alarm> alarms;
  for (const trend::Change& change : trend::find_trends(history).changes) {
    if (change.verdict == trend::Verdict::suspicious || change.raised < from) continue;
    alarms.push_back({change.raised, change.after > change.before ? 1 : -1});
  }
  return alarms;
}

Level step_level(double part, std::size_t at) {
  return [=](std::size_t run) { return run < at ? 1 : 1 + part; };
}

}  // namespace peakmark::bench
