#include "trend/case_status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "runfile/run_summary.hpp"

namespace peakmark::trend {
namespace {

/// A suite must be among this many newest runs; improvements are reported for as many.
constexpr std::size_t kCurrentRuns = 30;

using Names = std::set<std::string_view>;

/// The cases of a device by what trends found.
struct Found {
  Names regressions, suspicious, improvements, recoveries, vanished, newly_vanished, not_planned, is_new,
      young;
};

Found find_all(const DeviceHistory& history, const Trends& trends) {
  Found found;
  for (const Change& change : trends.changes) {
    const bool is_good = change.verdict == Verdict::improvement || change.verdict == Verdict::recovery;
    if (is_open(change)) {
      found.regressions.insert(change.case_name);
    } else if (needs_action(change)) {
      found.suspicious.insert(change.case_name);
    } else if (is_good && change.state == State::past && change.first + kCurrentRuns >= history.runs.size()) {
      (change.verdict == Verdict::recovery ? found.recoveries : found.improvements).insert(change.case_name);
    }
  }
  for (const Vanished& one : trends.vanished) {
    found.vanished.insert(one.case_name);
    if (one.is_news) found.newly_vanished.insert(one.case_name);
    if (!one.outcome) found.not_planned.insert(one.case_name);
  }
  for (const NewCase& one : trends.new_cases) found.is_new.insert(one.case_name);
  for (const NotEnoughData& one : trends.not_enough_data) found.young.insert(one.case_name);
  return found;
}

/// Returns `peak / estimate 0.500, window 0.8 to 1`, or the advice of the verdict.
std::string verdict_text(const peakmark::Verdict& verdict) {
  const bool is_window = verdict.rule == Rule::window_bytes || verdict.rule == Rule::window_slices;
  if (!is_window || !verdict.figure || !verdict.bound) return verdict.advice;
  return fmt::format("{} {:.3f}, window {:g} to {:g}",
                     verdict.rule == Rule::window_bytes ? "peak / estimate" : "slices estimated / used",
                     *verdict.figure, verdict.bound->lo, verdict.bound->hi);
}

/// Returns the status from judge() alone.
CaseStatus judged_status(const JudgedCase& judged) {
  CaseStatus status{std::string(judged.name), CaseState::steady, judged.judgement(), reason(judged), {}};
  const peakmark::Verdict* const worst = judged.worst();
  switch (status.judgement) {
    case Judgement::failed_measurement:
      status.state = CaseState::failed;
      break;
    case Judgement::fail: {
      const bool is_window = worst->rule == Rule::window_bytes || worst->rule == Rule::window_slices;
      status.state = is_window ? CaseState::window : CaseState::rule;
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

void set(CaseStatus& status, CaseState state, Judgement judgement, const char* reason) {
  status.state = state;
  status.judgement = judgement;
  status.reason = reason;
}

/// Replaces the status by what trends found if that is worse.
void add_found(CaseStatus& status, const Found& found, bool is_expected) {
  const auto worse_than = [&](const Names& names, CaseState state) {
    return names.contains(status.case_name) && state < status.state;
  };
  if (worse_than(found.regressions, CaseState::regression)) {
    set(status, CaseState::regression, Judgement::fail, "regression");
  } else if (worse_than(found.suspicious, CaseState::suspicious)) {
    set(status, CaseState::suspicious, Judgement::warning, "suspicious");
  } else if (!is_expected && worse_than(found.vanished, CaseState::vanished)) {
    set(status, CaseState::vanished, Judgement::skipped, "vanished");
    if (found.newly_vanished.contains(status.case_name)) {
      status.texts.insert(status.texts.begin(), "new since the previous run");
    }
  } else if (worse_than(found.improvements, CaseState::improvement)) {
    status.state = CaseState::improvement;
  } else if (worse_than(found.recoveries, CaseState::recovery)) {
    status.state = CaseState::recovery;
  } else if (worse_than(found.is_new, CaseState::is_new)) {
    status.state = CaseState::is_new;
  } else if (worse_than(found.young, CaseState::young)) {
    status.state = CaseState::young;
  }
}

bool is_as_the_suite_expects(const JudgedCase& judged) {
  return judged.observation != nullptr && judged.planned != nullptr &&
         judged.planned->expected_outcome == to_string(judged.observation->outcome);
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
  constexpr std::array<std::string_view, 13> names{
      "regression",  "failed",      "window",   "rule", "suspicious", "vanished", "skipped",
      "as_expected", "improvement", "recovery", "new",  "young",      "steady"};
  return names.at(static_cast<std::size_t>(state));
}

bool CaseStatus::needs_action() const {
  return state <= CaseState::vanished;
}

std::vector<CaseStatus> find_case_statuses(const DeviceHistory& history, const Trends& trends,
                                           const ReadRun& read_run) {
  const Found found = find_all(history, trends);
  std::vector<CaseStatus> statuses;
  std::map<std::size_t, std::vector<std::size_t>> cases_of_run;  // places in `statuses`
  for (const CaseOutcomes& one : history.outcomes) {
    const auto last =
        std::find_if(one.outcomes.rbegin(), one.outcomes.rend(),
                     [](const std::optional<std::string>& outcome) { return outcome.has_value(); });
    if (last == one.outcomes.rend()) continue;
    const auto run = static_cast<std::size_t>(one.outcomes.rend() - last) - 1;
    const bool is_old = run + kCurrentRuns < history.runs.size();
    if (is_old || found.not_planned.contains(one.case_name)) {  // no current run has the case
      statuses.push_back(not_run(one.case_name, history.runs[run].date));
      add_found(statuses.back(), found, false);
      continue;
    }
    cases_of_run[run].push_back(statuses.size());
    statuses.push_back({one.case_name, CaseState::steady, Judgement::pass, {}, {}});
  }
  for (const auto& [number, places] : cases_of_run) {
    const Run run = read_run(history.runs[number].id);
    const std::vector<peakmark::Verdict> verdicts = judge(run, {});
    const std::vector<JudgedCase> judged = by_case(run, verdicts);
    std::map<std::string_view, const JudgedCase*> by_name;
    for (const JudgedCase& one : judged) by_name.emplace(one.name, &one);
    for (const std::size_t place : places) {
      CaseStatus& status = statuses[place];
      const auto case_entry = by_name.find(status.case_name);
      const bool is_there = case_entry != by_name.end();
      if (is_there) status = judged_status(*case_entry->second);
      add_found(status, found, is_there && is_as_the_suite_expects(*case_entry->second));
    }
  }
  return statuses;
}

}  // namespace peakmark::trend
