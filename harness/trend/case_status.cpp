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

/// Runs of a device in which a suite must have run, and for which good news is news.
constexpr std::size_t kCurrentRuns = 30;

using Names = std::set<std::string_view>;

/// What trends found of the cases of a device.
struct Found {
  Names regressions, suspicious, improvements, recoveries, vanished, newly_vanished, gone, is_new, young;
};

Found found_in(const DeviceHistory& history, const Trends& trends) {
  Found found;
  for (const Change& change : trends.changes) {
    const bool is_good = change.verdict == Verdict::improvement || change.verdict == Verdict::recovery;
    if (is_open(change)) {
      found.regressions.insert(change.case_name);
    } else if (needs_a_look(change)) {
      found.suspicious.insert(change.case_name);
    } else if (is_good && change.state == State::past && change.first + kCurrentRuns >= history.runs.size()) {
      (change.verdict == Verdict::recovery ? found.recoveries : found.improvements).insert(change.case_name);
    }
  }
  for (const Vanished& one : trends.vanished) {
    found.vanished.insert(one.case_name);
    if (one.is_news) found.newly_vanished.insert(one.case_name);
    if (!one.outcome) found.gone.insert(one.case_name);
  }
  for (const NewCase& one : trends.new_cases) found.is_new.insert(one.case_name);
  for (const NotEnoughData& one : trends.not_enough_data) found.young.insert(one.case_name);
  return found;
}

/// `peak / estimate 0.500, window 0.8 to 1`, or what the verdict advises.
std::string text_of_verdict(const peakmark::Verdict& verdict) {
  const bool is_window = verdict.rule == Rule::window_bytes || verdict.rule == Rule::window_slices;
  if (!is_window || !verdict.figure || !verdict.bound) return verdict.advice;
  return fmt::format("{} {:.3f}, window {:g} to {:g}",
                     verdict.rule == Rule::window_bytes ? "peak / estimate" : "slices estimated / used",
                     *verdict.figure, verdict.bound->lo, verdict.bound->hi);
}

/// Of what judge() says alone.
CaseStatus standing_of(const JudgedCase& judged) {
  CaseStatus standing{judged.name, CaseState::steady, judged.judgement(), reason_of(judged), {}};
  const peakmark::Verdict* const worst = judged.worst();
  switch (standing.judgement) {
    case Judgement::failed_measurement:
      standing.state = CaseState::failed;
      break;
    case Judgement::fail: {
      const bool is_window = worst->rule == Rule::window_bytes || worst->rule == Rule::window_slices;
      standing.state = is_window ? CaseState::window : CaseState::rule;
      break;
    }
    case Judgement::skipped:
      standing.state = CaseState::skipped;
      break;
    case Judgement::as_expected:
      standing.state = CaseState::as_expected;
      break;
    case Judgement::counted:
    case Judgement::pass:
      return standing;
  }
  for (const peakmark::Verdict* const verdict : judged.verdicts) {
    const bool fails = verdict->judgement >= Judgement::fail;
    if (fails || verdict == worst) standing.texts.push_back(text_of_verdict(*verdict));
  }
  return standing;
}

void set(CaseStatus& standing, CaseState state, Judgement judgement, const char* reason) {
  standing.state = state;
  standing.judgement = judgement;
  standing.reason = reason;
}

/// What trends found counts where it is worse than what the newest run shows.
void add_found(CaseStatus& standing, const Found& found, bool is_expected) {
  const auto worse_than = [&](const Names& names, CaseState state) {
    return names.contains(standing.case_name) && state < standing.state;
  };
  if (worse_than(found.regressions, CaseState::regression)) {
    set(standing, CaseState::regression, Judgement::fail, "regression");
  } else if (worse_than(found.suspicious, CaseState::suspicious)) {
    set(standing, CaseState::suspicious, Judgement::counted, "suspicious");
  } else if (!is_expected && worse_than(found.vanished, CaseState::vanished)) {
    set(standing, CaseState::vanished, Judgement::skipped, "vanished");
    if (found.newly_vanished.contains(standing.case_name)) {
      standing.texts.insert(standing.texts.begin(), "new since the previous run");
    }
  } else if (worse_than(found.improvements, CaseState::improvement)) {
    standing.state = CaseState::improvement;
  } else if (worse_than(found.recoveries, CaseState::recovery)) {
    standing.state = CaseState::recovery;
  } else if (worse_than(found.is_new, CaseState::is_new)) {
    standing.state = CaseState::is_new;
  } else if (worse_than(found.young, CaseState::young)) {
    standing.state = CaseState::young;
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

bool CaseStatus::needs_a_look() const {
  return state <= CaseState::vanished;
}

std::vector<CaseStatus> find_standings(const DeviceHistory& history, const Trends& trends,
                                       const ReadRun& read_run) {
  const Found found = found_in(history, trends);
  std::vector<CaseStatus> standings;
  std::map<std::size_t, std::vector<std::size_t>> cases_of_run;  // places in `standings`
  for (const CaseOutcomes& one : history.outcomes) {
    const auto last =
        std::find_if(one.outcomes.rbegin(), one.outcomes.rend(),
                     [](const std::optional<std::string>& outcome) { return outcome.has_value(); });
    if (last == one.outcomes.rend()) continue;
    const auto run = static_cast<std::size_t>(one.outcomes.rend() - last) - 1;
    const bool is_old = run + kCurrentRuns < history.runs.size();
    if (is_old || found.gone.contains(one.case_name)) {  // no run of now tells of it
      standings.push_back(not_run(one.case_name, history.runs[run].date));
      add_found(standings.back(), found, false);
      continue;
    }
    cases_of_run[run].push_back(standings.size());
    standings.push_back({one.case_name, CaseState::steady, Judgement::pass, {}, {}});
  }
  for (const auto& [number, places] : cases_of_run) {
    const Run run = read_run(history.runs[number].id);
    const std::vector<peakmark::Verdict> verdicts = judge(run, {});
    const std::vector<JudgedCase> judged = by_case(run, verdicts);
    std::map<std::string_view, const JudgedCase*> by_name;
    for (const JudgedCase& one : judged) by_name.emplace(one.name, &one);
    for (const std::size_t place : places) {
      CaseStatus& standing = standings[place];
      const auto of_case = by_name.find(standing.case_name);
      const bool is_there = of_case != by_name.end();
      if (is_there) standing = standing_of(*of_case->second);
      add_found(standing, found, is_there && is_as_the_suite_expects(*of_case->second));
    }
  }
  return standings;
}

}  // namespace peakmark::trend
