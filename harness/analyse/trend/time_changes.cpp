#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <thread>
#include <vector>

#include "analyse/trend/change_point_detector.hpp"
#include "analyse/trend/changes.hpp"
#include "analyse/trend/time_views.hpp"
#include "measure/statistics/rank_statistics.hpp"

namespace peakmark::trend {

namespace {

/// The median of this many runs must be back at the former level. Fewer runs may be a temporary state of the
/// machine.
constexpr std::size_t kRunsBack = 14;
constexpr std::size_t kRunsBefore = 30;
constexpr std::size_t kMinBefore = 10;
/// Minimum distance of the median from the middle of the two levels, in standard errors.
constexpr double kSure = 2.5;
/// Standard error of a median relative to a mean, for Gaussian noise: √(π/2).
constexpr double kErrorOfMedian = 1.2533;

/// Returns the logarithm of a run's time, or of its ratio to the reference of the change.
std::optional<double> measure(const Series& series, const HistoryRun& run, std::size_t at,
                              const std::string& reference) {
  const std::optional<double>& time = series.values[at];
  std::optional<double> over = 1.0;
  if (reference == "copy") over = run.reference_copy_ns;
  if (reference == "arithmetic") over = run.reference_arithmetic_ns;
  if (!time || !over) return std::nullopt;
  const double value = std::log(*time / *over);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::vector<double> measures_between(const DeviceHistory& history, const Series& series, std::size_t first,
                                     std::size_t end, const std::string& reference) {
  std::vector<double> measures;
  for (std::size_t run = first; run < end; ++run) {
    if (const auto value = measure(series, history.runs[run], run, reference)) measures.push_back(*value);
  }
  return measures;
}

double median(std::span<const double> values) {
  std::vector<double> copy(values.begin(), values.end());
  return median_in_place(copy);
}

bool is_resolved(const DeviceHistory& history, const Series& series, const Change& change,
                 std::size_t level_begins) {
  std::vector<double> before =
      measures_between(history, series, level_begins, change.last_before + 1, change.reference);
  if (before.size() < kMinBefore) return false;
  if (before.size() > kRunsBefore) before.erase(before.begin(), before.end() - kRunsBefore);
  const std::vector<double> since =
      measures_between(history, series, change.raised + 1, history.runs.size(), change.reference);
  std::vector<double> scratch(before.size());
  const Noise noise = estimate_noise(before, scratch, States::ignored);
  const double variance = variance_of_mean(kRunsBack, noise.persistence) +
                          variance_of_mean(static_cast<int>(before.size()), noise.persistence);
  const double error = kErrorOfMedian * noise.spread * std::sqrt(variance);
  const double middle = noise.centre + std::log(change.after / change.before) / 2;
  for (std::size_t end = kRunsBack; end <= since.size(); ++end) {
    if (median(std::span(since).subspan(end - kRunsBack, kRunsBack)) < middle - kSure * error) return true;
  }
  return false;
}

}  // namespace

void close_resolved_regressions(const DeviceHistory& history, const Series& series,
                                std::vector<Change>& changes) {
  std::size_t level_begins = 0;
  for (Change& change : changes) {
    if (is_open(change) && is_resolved(history, series, change, level_begins)) {
      change.state = State::recovered;
      change.now.reset();
    }
    level_begins = change.first;
  }
}

namespace {

/// Returns the probability that noise alone reaches this score. The scan takes the best of several windows,
/// so it is twice the tail of one.
double chance(double score) {
  return std::min(1.0, std::erfc(std::abs(score) / M_SQRT2));
}

/// Below this number of series a second thread costs more than it saves.
constexpr std::size_t kMinToShare = 256;

/// One series is replayed for this many runs before the next series, so that its values stay in the cache.
constexpr std::size_t kRunsAtOnce = 64;

/// One series of times during the replay.
struct TimeSeries {
  const Series* series = nullptr;
  TimeViews views;
  std::vector<std::size_t> runs;  ///< with a value, in order
  std::vector<Change> changes;
  OpenRegressions open;
  std::vector<std::size_t> restarts;  ///< runs at which an acceptance begins a level

  // Of the run being replayed.
  std::size_t next = 0;
  TimeScan latest;
  bool is_confirmed = false;  ///< by a second measurement, or by the run before
  Evidence evidence{};
  double pending = 0;                        ///< the sign of the unconfirmed change in the run before, else 0
  std::array<double, kRunsAtOnce> scores{};  ///< of the block of runs; NaN: none

  TimeSeries(const Series& of, const References& references, const TrendOptions& options)
      : series(&of), views(of, references, options) {}
};

class Replay {
 public:
  Replay(const DeviceHistory& history, const Plans& plans, const References& references,
         const TrendOptions& options)
      : history_(history), plans_(plans), options_(options) {
    for (const Series& series : history.series) {
      if (series.metric == metric::gpu_time_ns) series_.emplace_back(series, references, options);
    }
  }

  /// Begins a level of a case at the first run from `from` on that has a time: a user accepted a change that
  /// the replay does not find.
  void restart(const std::string& case_name, std::size_t from) {
    for (TimeSeries& one : series_) {
      if (one.series->case_name != case_name) continue;
      std::size_t run = from;
      while (run < history_.runs.size() && !one.views.has(run)) ++run;
      one.restarts.push_back(run);
    }
  }

  TimeTrends run() {
    for (std::size_t begin = 0; begin < history_.runs.size(); begin += kRunsAtOnce)
      replay(begin, std::min(begin + kRunsAtOnce, history_.runs.size()));
    TimeTrends trends;
    for (TimeSeries& one : series_) {
      if (!one.runs.empty() && one.runs.size() <= options_.detector.min_runs) {
        trends.not_enough_data.push_back(
            {one.series->case_name, one.series->metric, one.runs.size(), options_.detector.min_runs});
      }
      close_resolved_regressions(history_, *one.series, one.changes);
      // Only suspicions of the last run are reported: earlier ones were confirmed or refuted.
      if (!one.runs.empty() && plans_.is_last(one.series->case_name, one.runs.back())) {
        add_suspicions(one, trends);
      }
      std::ranges::move(one.changes, std::back_inserter(trends.changes));
    }
    std::ranges::stable_sort(trends.changes, {}, &Change::raised);
    return trends;
  }

 private:
  /// Replays a block of runs. Series depend on each other only by the limit of false discoveries among the
  /// cases of a run. So each series is scanned up to a run that may raise a change. This is decided once the
  /// scores of all series are known.
  void replay(std::size_t begin, std::size_t end) {
    for (TimeSeries& one : series_) one.next = begin;
    std::vector<std::vector<TimeSeries*>> waiting(end - begin);  // series that wait for the decision on a run
    const auto wait = [&](TimeSeries& one, bool waits) {
      if (waits) waiting[one.next - 1 - begin].push_back(&one);
    };
    const std::vector<char> waits = advance_all(begin, end);
    for (std::size_t i = 0; i < series_.size(); ++i) wait(series_[i], waits[i] != 0);
    for (std::size_t run = begin; run < end; ++run) {
      if (waiting[run - begin].empty()) continue;
      std::ranges::sort(waiting[run - begin]);  // as in `series_`
      raise_certain(run, begin, waiting[run - begin]);
      for (TimeSeries* const one : waiting[run - begin]) wait(*one, advance(*one, begin, end));
    }
  }

  /// Scans up to `end`, or up to a run that may raise a change. Returns true if it stops at such a run.
  bool advance(TimeSeries& one, std::size_t begin, std::size_t end) const {
    while (one.next < end) {
      const std::size_t run = one.next++;
      double& score = one.scores[run - begin];
      score = std::nan("");
      if (!one.views.has(run)) continue;
      scan(one, run);
      if (!one.latest.scan.enough) continue;
      score = one.latest.scan.score;
      if (one.is_confirmed) return true;
    }
    return false;
  }

  /// Advances all series, on all cores if they are many. Returns for each series whether it waits.
  std::vector<char> advance_all(std::size_t begin, std::size_t end) {
    const std::size_t workers =
        series_.size() < kMinToShare ? 1 : std::max(1U, std::thread::hardware_concurrency());
    std::vector<char> waits(series_.size());
    const auto work = [&](std::size_t worker) {
      for (std::size_t i = worker; i < series_.size(); i += workers)
        waits[i] = advance(series_[i], begin, end) ? 1 : 0;
    };
    std::vector<std::jthread> others;
    for (std::size_t worker = 1; worker < workers; ++worker) others.emplace_back(work, worker);
    work(0);
    return waits;
  }

  /// Raises the changes that are certain enough among the scores of all series in this run.
  void raise_certain(std::size_t run, std::size_t begin, const std::vector<TimeSeries*>& confirmed) {
    std::vector<double> chances;
    std::vector<std::size_t> places;  // index in `chances` of each of `confirmed`
    auto next = confirmed.begin();
    for (TimeSeries& one : series_) {
      const double score = one.scores[run - begin];
      if (std::isnan(score)) continue;
      if (next != confirmed.end() && *next == &one) {
        places.push_back(chances.size());
        ++next;
      }
      chances.push_back(chance(score));
    }
    const std::vector<double> adjusted = adjust_false_discovery(chances);
    for (std::size_t i = 0; i < confirmed.size(); ++i) {
      if (adjusted[places[i]] <= options_.false_discoveries) raise(*confirmed[i], run);
    }
  }

  bool scores(const TimeSeries& one) const {
    const double score = one.latest.scan.score;
    // A return to the former level is likelier than another change, so a lower score is enough.
    const double faster = one.open.any() ? options_.detector.back : options_.detector.faster;
    return score >= options_.detector.slower || score <= -faster;
  }

  void scan(TimeSeries& one, std::size_t run) const {
    if (std::ranges::find(one.restarts, run) != one.restarts.end()) one.views.begin_level(0);
    one.runs.push_back(run);
    one.latest = one.views.scan(run, false);
    const bool again = one.views.has_confirmation(run);
    const bool suspicious = std::abs(one.latest.scan.suspicion) >= options_.detector.suspicion;
    if (suspicious && again) one.latest = one.views.scan(run, true);
    one.views.add(run, suspicious && again);
    const double sign = scores(one) ? std::copysign(1.0, one.latest.scan.score) : 0;
    one.is_confirmed = sign != 0 && (again || one.pending == sign);
    one.evidence = again ? Evidence::measured_again : Evidence::next_run;
    one.pending = sign;
  }

  void raise(TimeSeries& one, std::size_t run) {
    const Scan& scan = one.latest.scan;
    Change change = make_change(one, run);
    change.evidence = one.evidence;
    const double step = std::abs(change.after - change.before) / change.before;
    one.open.judge(change, one.changes, std::max(options_.detector.min_effect, step / 2));
    // The series is back at the former level, whose noise is already known.
    const bool is_back = change.verdict == Verdict::recovery && !one.changes.empty() &&
                         one.changes.back().verdict == Verdict::regression;
    one.changes.push_back(std::move(change));
    if (is_back) {
      one.views.return_to_former_level(scan.runs);
    } else {
      one.views.begin_level(scan.runs);
    }
    one.latest = {};
    one.pending = 0;
  }

  Change make_change(const TimeSeries& one, std::size_t run) const {
    const std::size_t count = std::max<std::size_t>(one.latest.scan.runs, 1);
    Change change;
    change.case_name = one.series->case_name;
    change.metric = one.series->metric;
    change.first = one.runs[one.runs.size() - count];
    change.last_before = one.runs[one.runs.size() - count - 1];
    change.raised = run;
    change.before = one.latest.level_ns;
    change.after = one.latest.level_ns * std::exp(one.latest.scan.effect);
    change.reference = one.latest.reference;
    return change;
  }

  void add_suspicions(const TimeSeries& one, TimeTrends& trends) const {
    const Scan& scan = one.latest.scan;
    if (!scan.enough) return;
    const std::size_t run = one.runs.back();
    if (std::abs(scan.suspicion) >= options_.detector.suspicion && !one.views.has_confirmation(run)) {
      trends.to_measure_again.push_back(one.series->case_name);
    }
    if (!scores(one)) return;
    Change change = make_change(one, run);
    change.verdict = Verdict::suspicious;
    trends.changes.push_back(std::move(change));
  }

  const DeviceHistory& history_;
  const Plans& plans_;
  const TrendOptions& options_;
  std::vector<TimeSeries> series_;
};

}  // namespace

TimeTrends find_time_changes(const DeviceHistory& history, const Plans& plans, const TrendOptions& options) {
  const References references(history.runs);
  TimeTrends trends = Replay(history, plans, references, options).run();
  // A change may be accepted before it is found, or although it is too small: a level begins there anyway.
  std::optional<Replay> other;
  for (const Acceptance& acceptance : history.acceptances) {
    const std::optional<std::size_t> from = find_run(history, acceptance.from_run);
    const bool is_of_times = acceptance.metric.empty() || acceptance.metric == metric::gpu_time_ns;
    if (!from || !is_of_times) continue;
    const bool is_found = std::ranges::any_of(trends.changes, [&](const Change& change) {
      return change.verdict != Verdict::suspicious && accepts(acceptance, *from, change);
    });
    if (is_found) continue;
    if (!other) other.emplace(history, plans, references, options);
    other->restart(acceptance.case_name, *from);
  }
  return other ? other->run() : trends;
}

}  // namespace peakmark::trend
