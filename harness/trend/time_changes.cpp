#include <algorithm>
#include <array>
#include <cmath>
#include <thread>

#include "statistics/false_discovery.hpp"
#include "trend/change_finders.hpp"
#include "trend/time_views.hpp"

namespace peakmark::trend {
namespace {

/// P that noise alone scores so much. The scan takes the best of several windows: twice the tail of one.
double chance_of(double score) {
  return std::min(1.0, std::erfc(std::abs(score) / M_SQRT2));
}

/// Series of a night below which a second thread is not worth its start.
constexpr std::size_t kMinToShare = 256;

/// One series of times during the replay.
struct Watched {
  const Series* series = nullptr;
  TimeViews views;
  std::vector<std::size_t> runs;  ///< that have a value, in order
  std::vector<Change> changes;
  OpenRegressions open;
  std::vector<std::size_t> restarts;  ///< runs that have a value, at which an acceptance begins a level

  // Of the night being looked at.
  TimePass look;
  bool is_confirmed = false;  ///< measured twice, or seen in the last night too
  Evidence evidence{};
  double pending = 0;  ///< the sign of what last night's single measurement showed

  Watched(const Series& of, const References& references, const TrendOptions& options)
      : series(&of), views(of, references, options) {}
};

class Replay {
 public:
  Replay(const DeviceHistory& history, const Plans& plans, const References& references,
         const TrendOptions& options)
      : history_(history), plans_(plans), options_(options) {
    for (const Series& series : history.series) {
      if (series.metric == metric::gpu_time_ns) watched_.emplace_back(series, references, options);
    }
  }

  /// An acceptance, from the run `from` on, of a change that the replay does not find itself. A run need not
  /// have a time of every case: the level begins with the first that has one.
  void restart(const std::string& case_name, std::size_t from) {
    for (Watched& one : watched_) {
      if (one.series->case_name != case_name) continue;
      std::size_t run = from;
      while (run < history_.runs.size() && !one.views.has(run)) ++run;
      one.restarts.push_back(run);
    }
  }

  TimeTrends run() {
    for (std::size_t run = 0; run < history_.runs.size(); ++run) night(run);
    TimeTrends trends;
    for (Watched& one : watched_) {
      if (!one.runs.empty() && one.runs.size() <= options_.watch.least_nights) {
        trends.not_enough_data.push_back(
            {one.series->case_name, one.series->metric, one.runs.size(), options_.watch.least_nights});
      }
      close_gone_regressions(history_, *one.series, one.changes);
      // Of suspicions the last night alone is told: those before came to something, or to nothing.
      if (!one.runs.empty() && plans_.is_last(one.series->case_name, one.runs.back())) {
        add_suspicion(one, trends);
      }
      std::ranges::move(one.changes, std::back_inserter(trends.changes));
    }
    std::ranges::stable_sort(trends.changes, {}, &Change::raised);
    return trends;
  }

 private:
  void night(std::size_t run) {
    std::vector<Watched*> told;  // of this night's cases, those that score high enough
    std::vector<double> chances;
    std::vector<Watched*> raised;
    look_at_all(run);
    for (Watched& one : watched_) {
      if (!one.views.has(run) || !one.look.scan.enough) continue;
      chances.push_back(chance_of(one.look.scan.score));
      told.push_back(scores(one) ? &one : nullptr);
    }
    const bool any = std::ranges::any_of(told, [](const Watched* one) { return one != nullptr; });
    if (any) {
      const std::vector<double> adjusted = adjust_false_discovery(chances);
      for (std::size_t i = 0; i < told.size(); ++i) {
        if (told[i] != nullptr && told[i]->is_confirmed && adjusted[i] <= options_.false_discoveries) {
          raised.push_back(told[i]);
        }
      }
    }
    for (Watched* const one : raised) raise(*one, run);
  }

  /// Each series for itself, so on all cores where there are many.
  void look_at_all(std::size_t run) {
    const std::size_t workers =
        watched_.size() < kMinToShare ? 1 : std::max(1U, std::thread::hardware_concurrency());
    const auto work = [this, run, workers](std::size_t worker) {
      for (std::size_t i = worker; i < watched_.size(); i += workers) {
        if (watched_[i].views.has(run)) look(watched_[i], run);
      }
    };
    std::vector<std::jthread> others;
    for (std::size_t worker = 1; worker < workers; ++worker) others.emplace_back(work, worker);
    work(0);
  }

  bool scores(const Watched& one) const {
    const double score = one.look.scan.score;
    // Back to where it came from is likelier than anywhere else: less is asked for.
    const double faster = one.open.any() ? options_.watch.back : options_.watch.faster;
    return score >= options_.watch.slower || score <= -faster;
  }

  void look(Watched& one, std::size_t run) {
    if (std::ranges::find(one.restarts, run) != one.restarts.end()) one.views.begin_level(0);
    one.runs.push_back(run);
    one.look = one.views.look(run, false);
    const bool again = one.views.has_confirmation(run);
    const bool suspicious = std::abs(one.look.scan.suspicion) >= options_.watch.suspicion;
    if (suspicious && again) one.look = one.views.look(run, true);
    one.views.add(run, suspicious && again);
    const double sign = scores(one) ? std::copysign(1.0, one.look.scan.score) : 0;
    one.is_confirmed = sign != 0 && (again || one.pending == sign);
    one.evidence = again ? Evidence::measured_again : Evidence::next_night;
    one.pending = sign;
  }

  void raise(Watched& one, std::size_t run) {
    const Look& scan = one.look.scan;
    Change change = change_of(one, run);
    change.evidence = one.evidence;
    const double step = std::abs(change.after - change.before) / change.before;
    one.open.judge(change, one.changes, std::max(options_.watch.least_effect, step / 2));
    // Back where it came from: the nights there are known, and need not be learnt again.
    const bool is_back = change.verdict == Verdict::recovery && !one.changes.empty() &&
                         one.changes.back().verdict == Verdict::regression;
    one.changes.push_back(std::move(change));
    if (is_back) {
      one.views.return_to_former_level(scan.nights);
    } else {
      one.views.begin_level(scan.nights);
    }
    one.look = {};
    one.pending = 0;
  }

  Change change_of(const Watched& one, std::size_t run) const {
    const std::size_t nights = std::max<std::size_t>(one.look.scan.nights, 1);
    Change change;
    change.case_name = one.series->case_name;
    change.metric = one.series->metric;
    change.first = one.runs[one.runs.size() - nights];
    change.last_before = one.runs[one.runs.size() - nights - 1];
    change.raised = run;
    change.before = one.look.level_ns;
    change.after = one.look.level_ns * std::exp(one.look.scan.effect);
    change.reference = one.look.reference;
    return change;
  }

  void add_suspicion(const Watched& one, TimeTrends& trends) const {
    const Look& scan = one.look.scan;
    if (!scan.enough) return;
    const std::size_t run = one.runs.back();
    if (std::abs(scan.suspicion) >= options_.watch.suspicion && !one.views.has_confirmation(run)) {
      trends.to_measure_again.push_back(one.series->case_name);
    }
    if (!scores(one)) return;
    Change change = change_of(one, run);
    change.verdict = Verdict::suspicious;
    trends.changes.push_back(std::move(change));
  }

  const DeviceHistory& history_;
  const Plans& plans_;
  const TrendOptions& options_;
  std::vector<Watched> watched_;
};

}  // namespace

TimeTrends find_time_changes(const DeviceHistory& history, const Plans& plans, const TrendOptions& options) {
  const References references(history.runs);
  TimeTrends trends = Replay(history, plans, references, options).run();
  // Somebody may accept a change before it is found, or one too small to be: the level begins there anyway.
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
