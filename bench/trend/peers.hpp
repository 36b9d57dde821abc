#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace peakmark::bench {

/// Nights (indices of `times`, from `from` on) in which a detector newly raises an alarm of a slower (+1) or
/// faster (−1) level. Each sees only the nights up to the one in question.
struct Alarm {
  std::size_t night = 0;
  int direction = 0;
};
using Detector = std::function<std::vector<Alarm>(const std::vector<double>& times, std::size_t from)>;

struct Peer {
  std::string name;
  Detector detect;
};

/// Page's CUSUM (1954) that knows the mean (1), the deviation and the step that it looks for: no detector
/// that sees one time a night finds a step sooner at as few false alarms (Moustakides 1986). Slower only.
Detector optimal_cusum(double deviation, double step, double threshold);

/// asv's regressions, airspeed velocity 0.6: piecewise-constant least-absolute fits, the number of pieces by
/// log of the mean residual + 4 ln n / n a piece; slower by 5 % than the best level before. Its
/// autocorrelated residuals are left out.
Detector asv(double threshold = 0.05);

/// Two-sided CUSUM of (x − median) / (1.4826 MAD) of the last 60 nights, reference 0.75, threshold 5.
Detector robust_cusum();
/// |z| > 5 against the last 100 nights (Conbench).
Detector last_hundred();
/// ± 10 % of the median of 14 nights.
Detector ten_percent();
/// Mann and Whitney, 7 nights against the 30 before, p < 0.001, normal approximation.
Detector seven_against_thirty();

std::vector<Peer> peers();

}  // namespace peakmark::bench
