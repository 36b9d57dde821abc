#include "analyse/trend/changes.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <unordered_map>

#include "measure/runfile/run_file.hpp"

namespace peakmark::trend {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::regression:
      return "regression";
    case Verdict::suspicious:
      return "suspicious";
    case Verdict::improvement:
      return "improvement";
    case Verdict::recovery:
      return "recovery";
  }
  return "";
}

std::string_view to_string(State state) {
  switch (state) {
    case State::open:
      return "open";
    case State::accepted:
      return "accepted";
    case State::recovered:
      return "recovered";
    case State::past:
      return "past";
  }
  return "";
}

std::string_view to_string(Evidence evidence) {
  switch (evidence) {
    case Evidence::exact:
      return "exact";
    case Evidence::measured_again:
      return "measured_again";
    case Evidence::next_run:
      return "next_run";
  }
  return "";
}

std::optional<double> Change::relative() const {
  if (before == 0 || metric == metric::outcome) return std::nullopt;
  return (after - before) / before;
}

std::optional<double> Change::relative_now() const {
  if (!now || before == 0 || metric == metric::outcome) return std::nullopt;
  return (*now - before) / before;
}

void OpenRegressions::judge(Change& change, std::vector<Change>& earlier, double tolerance,
                            const GrowthAllowance& allowed) {
  const double after = badness_(change.after);
  for (const std::size_t place : open_) {
    Change& regression = earlier[place];
    regression.now = after < badness_(regression.after) ? std::optional(change.after) : std::nullopt;
  }
  if (after > badness_(change.before)) {
    change.verdict = Verdict::regression;
    change.state = State::open;
    open_.push_back(earlier.size());
    return;
  }
  change.verdict = Verdict::improvement;
  change.state = State::past;
  while (!open_.empty()) {
    Change& regression = earlier[open_.back()];
    const double good = badness_(regression.before);
    const bool is_near =
        !allowed.is_zero() && allowed.covers(static_cast<Size>(good), static_cast<Size>(after));
    if (after > good + tolerance * std::abs(good) && !is_near) break;  // not back yet
    regression.state = State::recovered;
    regression.now.reset();
    regression.recovered_in = change.first;
    const bool is_back = after >= good - tolerance * std::abs(good);
    change.verdict = is_back ? Verdict::recovery : Verdict::improvement;
    open_.pop_back();
  }
}

bool accepts(const Acceptance& acceptance, std::size_t from, const Change& change) {
  return acceptance.case_name == change.case_name &&
         (acceptance.metric.empty() || acceptance.metric == change.metric) && change.last_before < from &&
         from <= change.raised;
}

void apply_acceptances(const DeviceHistory& history, std::vector<Change>& changes) {
  if (history.acceptances.empty()) return;
  // Acceptances and changes may both have an entry for each case of a suite, so they are matched by maps.
  std::unordered_map<std::string_view, std::size_t> runs;
  for (const HistoryRun& run : history.runs) runs.emplace(run.id, runs.size());
  std::unordered_map<std::string_view, std::vector<Change*>> open;
  for (Change& change : changes) {
    if (is_open(change)) open[change.case_name].push_back(&change);
  }
  for (std::size_t number = 0; number < history.acceptances.size(); ++number) {
    const Acceptance& acceptance = history.acceptances[number];
    const auto from = runs.find(acceptance.from_run);
    const auto of_case = open.find(acceptance.case_name);
    if (from == runs.end() || of_case == open.end()) continue;
    for (Change* const change : of_case->second) {
      if (!is_open(*change) || !accepts(acceptance, from->second, *change)) continue;
      change->state = State::accepted;
      change->acceptance = number;
    }
  }
}

namespace {

/// Maps a level to a number that is larger if the outcome is worse.
double outcome_badness(double level) {
  return std::max(level, static_cast<double>(OutcomeLevel::as_expected));
}

/// The default window of suites.
constexpr double kMinRatio = 0.8;
constexpr double kMaxRatio = 1;

bool same(double a, double b, bool is_bytes) {
  return is_bytes ? a == b : std::abs(a - b) <= kSameRatio * std::max(std::abs(a), std::abs(b));
}

/// Maps peak / estimate to a number that is larger if it is worse: above 1 memory runs out, far below 1 it is
/// wasted.
double ratio_badness(double ratio) {
  constexpr double kUnderestimate = 1e6;
  return ratio > 1 ? kUnderestimate * ratio : 1 / std::max(ratio, 1e-9);
}

/// Returns true if the step stays within the window: it is reported, but is not a regression.
bool within_window(const Change& change) {
  const auto within = [](double ratio) { return ratio >= kMinRatio && ratio <= kMaxRatio; };
  return within(change.before) && within(change.after);
}

}  // namespace

std::vector<Change> find_outcome_changes(const CaseOutcomes& of) {
  std::vector<Change> changes;
  OpenRegressions open(outcome_badness);
  std::optional<std::size_t> last;
  for (std::size_t run = 0; run < of.outcomes.size(); ++run) {
    if (!of.outcomes[run]) continue;
    if (last && (is_worse(of.level(*last), of.level(run)) || is_worse(of.level(run), of.level(*last)))) {
      Change change;
      change.case_name = of.case_name;
      change.metric = metric::outcome;
      change.first = run;
      change.last_before = *last;
      change.raised = run;
      change.before = static_cast<double>(of.level(*last));
      change.after = static_cast<double>(of.level(run));
      change.evidence = Evidence::exact;
      open.judge(change, changes, 0);
      changes.push_back(std::move(change));
    }
    last = run;
  }
  return changes;
}

ExactChanges find_exact_changes(const DeviceHistory& history, const Series& series,
                                const GrowthAllowance& allowed_growth) {
  const bool is_bytes = metric::is_exact(series.metric);
  const GrowthAllowance allowed =
      is_bytes && series.metric != metric::leaked_bytes ? allowed_growth : GrowthAllowance{};
  ExactChanges found;
  std::vector<Change>& changes = found.changes;
  OpenRegressions open(is_bytes ? identity_badness : ratio_badness);
  std::optional<std::size_t> last;
  for (std::size_t run = 0; run < history.runs.size(); ++run) {
    const std::optional<double>& value = series.values[run];
    if (!value || !std::isfinite(*value)) continue;
    found.allowed_growth.reset();
    if (last && !allowed.is_zero()) {
      // `last` stays: otherwise growth in many small steps would never be found.
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

namespace {

std::optional<std::string> known(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

std::optional<std::string> find(const std::map<std::string, std::string>& environment,
                                const std::string& key) {
  const auto found = environment.find(key);
  if (found == environment.end()) return std::nullopt;
  return found->second;
}

class Comparison {
 public:
  Comparison(std::size_t run, std::vector<EnvironmentChange>& changes) : run_(run), changes_(changes) {}
  void compare(const std::string& what, const std::optional<std::string>& before,
               const std::optional<std::string>& after) {
    if (before != after) changes_.push_back({run_, what, before, after});
  }

 private:
  std::size_t run_;
  std::vector<EnvironmentChange>& changes_;
};

void compare(const HistoryRun& before, const HistoryRun& after, Comparison comparison) {
  comparison.compare("driver", known(before.driver), known(after.driver));
  comparison.compare("platform", known(before.platform), known(after.platform));
  comparison.compare("build", known(before.build), known(after.build));
  comparison.compare("host", known(before.host_name), known(after.host_name));
  std::set<std::string> keys;
  for (const auto* environment : {&before.environment, &after.environment}) {
    for (const auto& [key, value] : *environment) keys.insert(key);
  }
  for (const std::string& key : keys) {
    if (std::ranges::find(environment_key::of_the_moment, key) != environment_key::of_the_moment.end())
      continue;
    comparison.compare(key, find(before.environment, key), find(after.environment, key));
  }
}

}  // namespace

std::vector<EnvironmentChange> find_environment_changes(const std::vector<HistoryRun>& runs) {
  std::vector<EnvironmentChange> changes;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    compare(runs[run - 1], runs[run], Comparison(run, changes));
  }
  return changes;
}

}  // namespace peakmark::trend
