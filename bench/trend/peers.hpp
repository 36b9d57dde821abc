#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace peakmark::bench {

/// A run in which a detector reports a new level.
struct Alarm {
  std::size_t run = 0;  ///< index of `times`
  int direction = 0;    ///< +1: slower, −1: faster
};
/// Returns the alarms of a detector from run `from` on. For each run it sees only the times up to that run.
using Detector = std::function<std::vector<Alarm>(const std::vector<double>& times, std::size_t from)>;

struct Peer {
  std::string name;
  Detector detect;
};

/// Page's CUSUM (1954) with known mean (1), deviation and step; slower levels only. No detector that sees one
/// time per run finds such a step sooner at as few false alarms (Moustakides 1986).
Detector optimal_cusum(double deviation, double step, double threshold);

/// Regressions of asv (airspeed velocity 0.6): a level 5 % slower than the best earlier one. Levels are those
/// of a piecewise-constant least-absolute fit; the number of pieces minimises the log of the mean residual
/// + 4 ln n / n per piece. Omits asv's treatment of autocorrelated residuals.
Detector asv(double threshold = 0.05);

/// Two-sided CUSUM of (x − median) / (1.4826 MAD) of the last 60 runs, reference 0.75, threshold 5.
Detector robust_cusum();
/// |z| > 5 against the last 100 runs (Conbench).
Detector last_hundred();
/// ± 10 % of the median of 14 runs.
Detector ten_percent();
/// Mann and Whitney, 7 runs against the 30 before, p < 0.001, normal approximation.
Detector seven_against_thirty();

std::vector<Peer> peers();

}  // namespace peakmark::bench
