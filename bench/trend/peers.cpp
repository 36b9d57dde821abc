#include "bench/trend/peers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "harness/trend/change_point_detector.hpp"

namespace peakmark::bench {
namespace {

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return trend::median_in_place(copy);
}

/// Makes a detector of a rule that judges one run: +1 slower, −1 faster, 0 neither. Consecutive runs of the
/// same direction are one alarm.
template <typename Rule>
Detector run_by_run(Rule rule) {
  return [rule](const std::vector<double>& times, std::size_t from) {
    std::vector<Alarm> alarms;
    int last = 0;
    for (std::size_t run = from; run < times.size(); ++run) {
      const int direction = rule(std::span(times).first(run + 1));
      if (direction != 0 && direction != last) alarms.push_back({run, direction});
      last = direction;
    }
    return alarms;
  };
}

/// Medians and least absolute deviations of all intervals of a series.
class Intervals {
 public:
  explicit Intervals(const std::vector<double>& values) : count_(values.size()), cells_(count_ * count_) {
    std::vector<double> sorted;
    for (std::size_t first = 0; first < count_; ++first) {
      sorted.clear();
      for (std::size_t last = first; last < count_; ++last) {
        sorted.insert(std::ranges::upper_bound(sorted, values[last]), values[last]);
        const double middle = sorted[sorted.size() / 2];
        double distance = 0;
        for (const double value : sorted) distance += std::abs(value - middle);
        cells_[first * count_ + last] = {middle, distance};
      }
    }
  }
  struct Cell {
    double median = 0;
    double distance = 0;
  };
  [[nodiscard]] const Cell& of(std::size_t first, std::size_t last) const {
    return cells_[first * count_ + last];
  }

 private:
  std::size_t count_;
  std::vector<Cell> cells_;
};

/// Returns the first run of each piece of the best fit of runs 0 … last, if each piece costs `gamma`.
std::vector<std::size_t> potts(const Intervals& intervals, std::size_t last, double gamma) {
  std::vector<double> best(last + 2, std::numeric_limits<double>::infinity());
  std::vector<std::size_t> start(last + 2, 0);
  best[0] = -gamma;
  for (std::size_t end = 0; end <= last; ++end) {
    for (std::size_t first = 0; first <= end; ++first) {
      const double cost = best[first] + gamma + intervals.of(first, end).distance;
      if (cost < best[end + 1]) {
        best[end + 1] = cost;
        start[end + 1] = first;
      }
    }
  }
  std::vector<std::size_t> firsts;
  for (std::size_t end = last + 1; end > 0; end = start[end]) firsts.push_back(start[end]);
  std::ranges::reverse(firsts);
  return firsts;
}

std::vector<std::size_t> best_potts(const Intervals& intervals, std::size_t last) {
  const auto n = static_cast<double>(last + 1);
  const double beta = 4 * std::log(n) / n;
  const double most = intervals.of(0, last).distance;
  double min_information = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> best;
  constexpr int kTried = 12;
  for (int i = 0; i < kTried; ++i) {
    const double gamma = most * std::exp(std::log(0.1 / n) * i / (kTried - 1));
    const std::vector<std::size_t> firsts = potts(intervals, last, gamma);
    double distance = 0;
    for (std::size_t piece = 0; piece < firsts.size(); ++piece) {
      distance +=
          intervals.of(firsts[piece], piece + 1 < firsts.size() ? firsts[piece + 1] - 1 : last).distance;
    }
    const double information = beta * static_cast<double>(firsts.size()) + std::log(distance / n + 1e-12);
    if (information < min_information) {
      min_information = information;
      best = firsts;
    }
  }
  return best;
}

}  // namespace

Detector optimal_cusum(double deviation, double step, double threshold) {
  return [=](const std::vector<double>& times, std::size_t from) {
    std::vector<Alarm> alarms;
    double sum = 0;
    for (std::size_t run = 0; run < times.size(); ++run) {
      sum = std::max(0.0, sum + step * (times[run] - 1 - step / 2) / (deviation * deviation));
      if (sum < threshold) continue;
      sum = 0;
      if (run >= from) alarms.push_back({run, 1});
    }
    return alarms;
  };
}

Detector asv(double threshold) {
  return [=](const std::vector<double>& times, std::size_t from) {
    const Intervals intervals(times);
    std::vector<Alarm> alarms;
    bool is_regressed = false;
    for (std::size_t run = from; run < times.size(); ++run) {
      const std::vector<std::size_t> firsts = best_potts(intervals, run);
      double best = std::numeric_limits<double>::infinity();
      double level = 0;
      for (std::size_t piece = 0; piece < firsts.size(); ++piece) {
        const std::size_t end = piece + 1 < firsts.size() ? firsts[piece + 1] - 1 : run;
        if (end == firsts[piece]) continue;  // min_size 2
        level = intervals.of(firsts[piece], end).median;
        best = std::min(best, level);
      }
      const bool now = level > best * (1 + threshold);
      if (now && !is_regressed) alarms.push_back({run, 1});
      is_regressed = now;
    }
    return alarms;
  };
}

Detector robust_cusum() {
  return [](const std::vector<double>& times, std::size_t from) {
    std::vector<Alarm> alarms;
    double up = 0;
    double down = 0;
    for (std::size_t run = 20; run < times.size(); ++run) {
      const std::size_t first = run > 60 ? run - 60 : 0;
      const auto before = std::span(times).subspan(first, run - first);
      const double middle = median(before);
      std::vector<double> distances;
      for (const double value : before) distances.push_back(std::abs(value - middle));
      const double z = (times[run] - middle) / std::max(1.4826 * trend::median_in_place(distances), 1e-3);
      const double clipped = std::clamp(z, -4.0, 4.0);
      up = std::max(0.0, up + clipped - 0.75);
      down = std::max(0.0, down - clipped - 0.75);
      if (up < 5 && down < 5) continue;
      if (run >= from) alarms.push_back({run, up >= 5 ? 1 : -1});
      up = down = 0;
    }
    return alarms;
  };
}

Detector last_hundred() {
  return run_by_run([](std::span<const double> times) {
    const std::span<const double> before =
        times.first(times.size() - 1).last(std::min<std::size_t>(100, times.size() - 1));
    const auto n = static_cast<double>(before.size());
    const double mean = std::accumulate(before.begin(), before.end(), 0.0) / n;
    double squares = 0;
    for (const double one : before) squares += (one - mean) * (one - mean);
    const double z = (times.back() - mean) / std::sqrt(squares / (n - 1));
    return z > 5 ? 1 : z < -5 ? -1 : 0;
  });
}

Detector ten_percent() {
  return run_by_run([](std::span<const double> times) {
    const double ratio = times.back() / median(times.first(times.size() - 1).last(14));
    return ratio > 1.1 ? 1 : ratio < 0.9 ? -1 : 0;
  });
}

Detector seven_against_thirty() {
  return run_by_run([](std::span<const double> times) {
    const auto last = times.last(7);
    const auto before = times.first(times.size() - 7).last(30);
    double u = 0;
    for (const double a : last) {
      for (const double b : before) u += a > b ? 1 : 0;
    }
    const double z = (u - 105) / std::sqrt(7 * 30 * 38 / 12.0);
    return z > 3.29 ? 1 : z < -3.29 ? -1 : 0;
  });
}

std::vector<Peer> peers() {
  return {{"asv, 5 %", asv()},
          {"robust CUSUM", robust_cusum()},
          {"z = 5 on the last 100", last_hundred()},
          {"± 10 % of the median of 14", ten_percent()},
          {"Mann-Whitney, 7 against 30", seven_against_thirty()}};
}

}  // namespace peakmark::bench
