#include "analyse/trend/case_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "analyse/trend/accepted_levels.hpp"
#include "measure/runfile/run_summary.hpp"

namespace peakmark::trend {
namespace {

using Names = std::set<std::string_view>;

/// The cases of a device, by the results of find_trends().
struct Found {
  Names regressions, suspicious, improvements, recoveries, accepted_outcomes, left_suite, newly_left, young;
  std::map<std::string_view, std::string_view> is_new;  ///< with NewCase::note
};

Found find_all(const DeviceHistory& history, const Trends& trends) {
  Found found;
  for (const Change& change : trends.changes) {
    if (change.metric == metric::outcome) {
      // Changes are in the order of their runs, so the last one decides.
      found.accepted_outcomes.erase(change.case_name);
      if (change.state == State::accepted) found.accepted_outcomes.insert(change.case_name);
    }
    if (is_open(change)) {
      found.regressions.insert(change.case_name);
    } else if (needs_action(change)) {
      found.suspicious.insert(change.case_name);
    } else if (is_recent_improvement(history, change)) {
      (change.verdict == Verdict::recovery ? found.recoveries : found.improvements).insert(change.case_name);
    }
  }
  for (const LeftSuite& one : trends.left_suite) {
    found.left_suite.insert(one.case_name);
    if (one.is_news) found.newly_left.insert(one.case_name);
  }
  for (const NewCase& one : trends.new_cases) found.is_new.emplace(one.case_name, one.note);
  for (const NotEnoughData& one : trends.not_enough_data) found.young.insert(one.case_name);
  return found;
}

/// Returns `peak / estimate 0.500, window 0.8 to 1`, or the advice of the verdict.
std::string verdict_text(const peakmark::Verdict& verdict) {
  if (!is_window(verdict.rule) || !verdict.figure || !verdict.bound) return verdict.advice;
  return fmt::format("{} {:.3f}, window {:g} to {:g}",
                     verdict.rule == Rule::window_bytes ? "peak / estimate" : "slices estimated / used",
                     *verdict.figure, verdict.bound->lo, verdict.bound->hi);
}

/// Returns the status by the verdicts of judge(), without trends.
CaseStatus judged_status(const JudgedCase& judged) {
  CaseStatus status{std::string(judged.name), CaseState::steady, judged.judgement(), reason(judged), {}};
  const peakmark::Verdict* const worst = judged.worst();
  switch (status.judgement) {
    case Judgement::failed_measurement:
      status.state = CaseState::failed;
      break;
    case Judgement::fail: {
      status.state = is_window(worst->rule) ? CaseState::window : CaseState::rule;
      break;
    }
    case Judgement::skipped:
      status.state = CaseState::skipped;
      break;
    case Judgement::as_expected:
      status.state = CaseState::as_expected;
      break;
    case Judgement::warning:
    case Judgement::pass:
      return status;
  }
  for (const peakmark::Verdict* const verdict : judged.verdicts) {
    const bool fails = verdict->judgement >= Judgement::fail;
    if (fails || verdict == worst) status.texts.push_back(verdict_text(*verdict));
  }
  return status;
}

void set(CaseStatus& status, CaseState state, Judgement judgement, std::string reason) {
  status.state = state;
  status.judgement = judgement;
  status.reason = std::move(reason);
}

/// A case that was not measured keeps its reason: `out_of_memory`, `crashed`.
void set_regression(CaseStatus& status) {
  const bool is_measured = status.state != CaseState::failed && status.state != CaseState::skipped;
  set(status, CaseState::regression, std::max(status.judgement, Judgement::fail),
      is_measured ? "regression" : status.reason);
}

/// Replaces the status by the result of trends if that is worse.
void add_found(CaseStatus& status, const Found& found) {
  const auto worse_than = [&](const auto& names, CaseState state) {
    return names.contains(status.case_name) && state < status.state;
  };
  if (worse_than(found.regressions, CaseState::regression)) {
    set_regression(status);
  } else if (worse_than(found.suspicious, CaseState::suspicious)) {
    set(status, CaseState::suspicious, Judgement::warning, "suspicious");
  } else if (found.accepted_outcomes.contains(status.case_name) &&
             (status.state == CaseState::failed || status.state == CaseState::skipped)) {
    set(status, CaseState::as_expected, Judgement::as_expected, "accepted");
  } else if (worse_than(found.left_suite, CaseState::left_suite)) {
    set(status, CaseState::left_suite, Judgement::skipped, "left the suite");
    status.is_news = found.newly_left.contains(status.case_name);
    if (status.is_news) status.texts.insert(status.texts.begin(), "new since the previous run");
  } else if (worse_than(found.improvements, CaseState::improvement)) {
    status.state = CaseState::improvement;
  } else if (worse_than(found.recoveries, CaseState::recovery)) {
    status.state = CaseState::recovery;
  } else if (worse_than(found.is_new, CaseState::is_new)) {
    status.state = CaseState::is_new;
    if (const std::string_view note = found.is_new.at(status.case_name); !note.empty())
      status.texts.insert(status.texts.begin(), std::string(note));
  } else if (worse_than(found.young, CaseState::young)) {
    status.state = CaseState::young;
  }
}

/// The verdicts of judge() on one run, by case.
class JudgedRun {
 public:
  JudgedRun(const DeviceHistory& history, Run run)
      : run_(std::move(run)), verdicts_(judged(history, run_)), judged_(by_case(run_, verdicts_)) {
    for (const JudgedCase& one : judged_) by_name_.emplace(one.name, &one);
  }
  JudgedRun(const JudgedRun&) = delete;
  JudgedRun& operator=(const JudgedRun&) = delete;

  /// Returns null if the run has no such case.
  [[nodiscard]] const JudgedCase* find(std::string_view case_name) const {
    const auto found = by_name_.find(case_name);
    return found == by_name_.end() ? nullptr : found->second;
  }

 private:
  static std::vector<peakmark::Verdict> judged(const DeviceHistory& history, const Run& run) {
    std::vector<peakmark::Verdict> verdicts = judge(run, {});
    accept_verdicts(history, run, verdicts);
    return verdicts;
  }

  Run run_;
  std::vector<peakmark::Verdict> verdicts_;
  std::vector<JudgedCase> judged_;
  std::map<std::string_view, const JudgedCase*> by_name_;
};

/// Returns true if each rule that fails on one side fails on the other too.
bool fails_alike(const JudgedCase& judged, const JudgedCase& base) {
  const auto is_in_base = [&](const peakmark::Verdict* verdict) {
    return verdict->judgement < Judgement::fail ||
           std::ranges::any_of(base.verdicts, [&](const peakmark::Verdict* other) {
             return other->rule == verdict->rule && other->estimator == verdict->estimator &&
                    other->judgement >= verdict->judgement;
           });
  };
  return judged.judgement() >= Judgement::fail && std::ranges::all_of(judged.verdicts, is_in_base);
}

CaseStatus not_run(const std::string& case_name, const std::string& date) {
  return {case_name,
          CaseState::skipped,
          Judgement::skipped,
          "not run lately",
          {"last run on " + date.substr(0, 10)}};
}

}  // namespace

std::string_view to_string(CaseState state) {
  constexpr std::array<std::string_view, 14> names{
      "regression", "failed",      "window",      "rule",     "suspicious", "left_suite", "as_on_base",
      "skipped",    "as_expected", "improvement", "recovery", "new",        "young",      "steady"};
  return names.at(static_cast<std::size_t>(state));
}

bool CaseStatus::needs_action() const {
  return state <= CaseState::suspicious;
}

std::vector<CaseStatus> find_case_statuses(const DeviceHistory& history, const Trends& trends,
                                           const ReadRun& read_run) {
  const Found found = find_all(history, trends);
  std::vector<CaseStatus> statuses;
  std::map<std::size_t, std::vector<std::size_t>> cases_of_run;  // places in `statuses`
  const std::size_t first_of_branch = history.first_of_branch();
  for (const CaseOutcomes& one : history.outcomes) {
    const std::optional<std::size_t> last = one.last_planned();
    if (!last) continue;
    const std::size_t run = *last;
    if (!is_current(history, run) ||
        found.left_suite.contains(one.case_name)) {  // no current run has the case
      statuses.push_back(not_run(one.case_name, history.runs[run].date));
      add_found(statuses.back(), found);
      continue;
    }
    if (run < first_of_branch) {
      statuses.push_back({one.case_name, CaseState::skipped, Judgement::skipped, "not run", {}});
      continue;
    }
    cases_of_run[run].push_back(statuses.size());
    statuses.push_back({one.case_name, CaseState::steady, Judgement::pass, {}, {}});
  }
  for (const auto& [number, places] : cases_of_run) {
    const JudgedRun judged(history, read_run(history.runs[number].id));
    std::optional<JudgedRun> base;
    if (number >= first_of_branch && !history.base_runs.empty()) {
      if (const auto of_base = history.base_runs[number - first_of_branch].run)
        base.emplace(history, read_run(history.runs[*of_base].id));
    }
    for (const std::size_t place : places) {
      CaseStatus& status = statuses[place];
      if (const JudgedCase* const found_case = judged.find(status.case_name)) {
        status = judged_status(*found_case);
        const JudgedCase* const on_base = base ? base->find(status.case_name) : nullptr;
        if (on_base != nullptr && fails_alike(*found_case, *on_base)) status.state = CaseState::as_on_base;
      }
      add_found(status, found);
    }
  }
  return statuses;
}

}  // namespace peakmark::trend
