// Compares the replay, which scans blocks of runs case by case, with a plain one that goes from run to run
// over all cases.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "analyse/trend/changes.hpp"
#include "analyse/trend/time_views.hpp"
#include "analyse/trend/trends.hpp"
#include "measure/statistics/rank_statistics.hpp"

namespace peakmark::trend {
namespace {

/// What identifies a change, and its figures.
using Found = std::tuple<std::size_t, std::string, std::size_t, std::size_t, double, double, Verdict,
                         Evidence, std::string>;

Found found(const Change& change) {
  return {change.raised, change.case_name, change.first,     change.last_before, change.before,
          change.after,  change.verdict,   *change.evidence, change.reference};
}

/// Random steps, missing runs, second measurements and a reference that explains a part of the noise.
DeviceHistory random_history(unsigned seed, std::size_t cases, std::size_t runs) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  DeviceHistory history;
  std::vector<double> machine;
  for (std::size_t run = 0; run < runs; ++run) {
    HistoryRun& one = history.runs.emplace_back();
    one.id = std::to_string(run);
    machine.push_back(seed % 2 == 0 ? 0.03 * normal(random) : 0);
    if (seed % 3 != 0) one.reference_copy_ns = 100 * std::exp(machine.back() + 0.002 * normal(random));
  }
  for (std::size_t number = 0; number < cases; ++number) {
    Series series{"case" + std::to_string(1000 + number), std::string(metric::gpu_time_ns), {}, {}};
    const double noise = 0.002 + 0.02 * uniform(random);
    double level = 1000;
    for (std::size_t run = 0; run < runs; ++run) {
      if (uniform(random) < 0.01) level *= uniform(random) < 0.6 ? 1.06 : 1 / 1.06;
      if (run == runs / 2 && number % 4 == 0) level *= 1.04;  // of many cases
      const auto time = [&] { return level * std::exp(machine[run] + noise * normal(random)); };
      const bool is_missing = uniform(random) < 0.05;
      series.values.push_back(is_missing ? std::nullopt : std::optional(time()));
      series.confirmations.push_back(is_missing || seed % 2 == 0 ? std::nullopt : std::optional(time()));
    }
    history.outcomes.push_back({series.case_name, std::vector<std::optional<std::string>>(runs, "ok")});
    history.series.push_back(std::move(series));
  }
  return history;
}

struct PlainSeries {
  const Series* series;
  TimeViews views;
  OpenRegressions open;
  std::vector<Change> changes;
  std::vector<std::size_t> runs;
  TimeScan latest;
  Evidence evidence{};
  bool is_candidate = false;
  bool is_confirmed = false;
  double pending = 0;
};

/// The definition: each run judges all of its cases before the next.
std::vector<Found> plain_changes(const DeviceHistory& history, const TrendOptions& options) {
  const References references(history.runs);
  std::vector<PlainSeries> all;
  for (const Series& series : history.series)
    all.push_back({&series, TimeViews(series, references, options), OpenRegressions(), {}, {}, {}});
  std::vector<Found> raised;
  for (std::size_t run = 0; run < history.runs.size(); ++run) {
    std::vector<PlainSeries*> scanned;
    std::vector<double> chances;
    for (PlainSeries& one : all) {
      if (!one.views.has(run)) continue;
      one.runs.push_back(run);
      const bool again = one.views.has_confirmation(run);
      one.latest = one.views.scan(run, false);
      const bool both = again && std::abs(one.latest.scan.suspicion) >= options.detector.suspicion;
      if (both) one.latest = one.views.scan(run, true);
      one.views.add(run, both);
      const double score = one.latest.scan.score;
      const double faster = one.open.any() ? options.detector.back : options.detector.faster;
      one.is_candidate = score >= options.detector.slower || score <= -faster;
      const double sign = !one.is_candidate ? 0 : score > 0 ? 1 : -1;
      one.is_confirmed = one.is_candidate && (again || one.pending == sign);
      one.evidence = again ? Evidence::measured_again : Evidence::next_run;
      one.pending = sign;
      if (!one.latest.scan.enough) continue;
      scanned.push_back(&one);
      chances.push_back(std::min(1.0, std::erfc(std::abs(score) / M_SQRT2)));
    }
    if (chances.empty()) continue;
    const std::vector<double> adjusted = adjust_false_discovery(chances);
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      PlainSeries& one = *scanned[i];
      if (!one.is_confirmed || adjusted[i] > options.false_discoveries) continue;
      const std::size_t count = one.latest.scan.runs;
      Change change;
      change.case_name = one.series->case_name;
      change.raised = run;
      change.first = one.runs[one.runs.size() - count];
      change.last_before = one.runs[one.runs.size() - count - 1];
      change.before = one.latest.level_ns;
      change.after = one.latest.level_ns * std::exp(one.latest.scan.effect);
      change.reference = one.latest.reference;
      change.evidence = one.evidence;
      const double step = std::abs(change.after - change.before) / change.before;
      one.open.judge(change, one.changes, std::max(options.detector.min_effect, step / 2));
      const bool is_back = change.verdict == Verdict::recovery && !one.changes.empty() &&
                           one.changes.back().verdict == Verdict::regression;
      raised.push_back(found(change));
      one.changes.push_back(change);
      is_back ? one.views.return_to_former_level(count) : one.views.begin_level(count);
      one.pending = 0;
    }
  }
  std::ranges::sort(raised);
  return raised;
}

TEST(Replay, ChangesAreThoseOfJudgingRunByRun) {
  std::size_t changes = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const DeviceHistory history = random_history(seed, 30, 260);
    std::vector<Found> replayed;
    for (const Change& change : find_trends(history).changes) {
      if (change.evidence) replayed.push_back(found(change));
    }
    std::ranges::sort(replayed);
    EXPECT_EQ(replayed, plain_changes(history, {})) << "seed " << seed;
    changes += replayed.size();
  }
  EXPECT_GT(changes, 100U);
}

// Above this number of series, several threads share them.
TEST(Replay, AlsoOfManyCases) {
  const DeviceHistory history = random_history(8, 300, 90);
  std::vector<Found> replayed;
  for (const Change& change : find_trends(history).changes) {
    if (change.evidence) replayed.push_back(found(change));
  }
  std::ranges::sort(replayed);
  EXPECT_EQ(replayed, plain_changes(history, {}));
  EXPECT_GT(replayed.size(), 50U);
}

}  // namespace
}  // namespace peakmark::trend
