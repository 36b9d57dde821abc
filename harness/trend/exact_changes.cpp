#include <algorithm>
#include <cmath>

#include "trend/change_finders.hpp"

namespace peakmark::trend {
namespace {

/// The same quotient may come out with another last bit.
constexpr double kSameRatio = 1e-9;
/// The window that estimators must stay in where a suite names no other.
constexpr double kMinRatio = 0.8;
constexpr double kMaxRatio = 1;

bool same(double a, double b, bool is_bytes) {
  return is_bytes ? a == b : std::abs(a - b) <= kSameRatio * std::max(std::abs(a), std::abs(b));
}

/// Of the peak over the bytes estimated: above 1 memory runs out, far below it is wasted.
double badness_of_ratio(double ratio) {
  constexpr double kUnderestimate = 1e6;
  return ratio > 1 ? kUnderestimate * ratio : 1 / std::max(ratio, 1e-9);
}

/// Where the estimator may be, a step is worth telling, and nothing more.
bool within_window(const Change& change) {
  const auto within = [](double ratio) { return ratio >= kMinRatio && ratio <= kMaxRatio; };
  return within(change.before) && within(change.after);
}

}  // namespace

ExactChanges find_exact_changes(const DeviceHistory& history, const Series& series,
                                const GrowthAllowance& allowed_growth) {
  const bool is_bytes = metric::is_exact(series.metric);
  const GrowthAllowance allowed =
      is_bytes && series.metric != metric::leaked_bytes ? allowed_growth : GrowthAllowance{};
  ExactChanges found;
  std::vector<Change>& changes = found.changes;
  OpenRegressions open(is_bytes ? bad_as_it_is : badness_of_ratio);
  std::optional<std::size_t> last;
  for (std::size_t run = 0; run < history.runs.size(); ++run) {
    const std::optional<double>& value = series.values[run];
    if (!value || !std::isfinite(*value)) continue;
    found.allowed_growth.reset();
    if (last && !allowed.is_zero()) {
      // The level stays: growth by small steps must not pass unseen.
      const auto level = static_cast<Size>(*series.values[*last]);
      const auto now = static_cast<Size>(*value);
      if (allowed.covers(level, now)) {
        found.allowed_growth = {series.case_name, series.metric, run, level, now};
        continue;
      }
    }
    if (last && !same(*series.values[*last], *value, is_bytes)) {
      Change change;
      change.case_name = series.case_name;
      change.metric = series.metric;
      change.first = run;
      change.last_before = *last;
      change.raised = run;
      change.before = *series.values[*last];
      change.after = *value;
      change.evidence = Evidence::exact;
      if (!is_bytes && within_window(change)) {
        change.verdict = change.after > change.before ? Verdict::improvement : Verdict::suspicious;
        change.state = State::past;
      } else {
        open.judge(change, changes, is_bytes ? 0 : kSameRatio, allowed);
      }
      changes.push_back(std::move(change));
    }
    last = run;
  }
  return found;
}

}  // namespace peakmark::trend
