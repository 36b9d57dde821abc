#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analyse/trend/branches.hpp"
#include "analyse/trend/case_findings.hpp"
#include "analyse/trend/changes.hpp"
#include "analyse/trend/finding_json.hpp"
#include "analyse/trend/finding_text.hpp"
#include "analyse/trend/reports.hpp"
#include "measure/compare/moved_fields.hpp"
#include "measure/runfile/json_fields.hpp"

namespace peakmark::trend {
namespace {

using json_fields::Json;
using json_fields::or_null;

Json base_run_json(const BaseRun& base, const DeviceHistory& history) {
  Json entry{{"branch", base.branch},
             {"base_branch", base.base_branch},
             {"suite", base.suite},
             {"commit", json_fields::null_if_empty(base.commit)},
             {"merge_base", json_fields::null_if_empty(base.merge_base)},
             {"run", nullptr},
             {"run_commit", nullptr},
             {"commits_before_merge_base", or_null(base.older)},
             {"text", to_text(base, history)}};
  if (base.run) {
    entry["run"] = history.runs[*base.run].id;
    entry["run_commit"] = json_fields::null_if_empty(history.runs[*base.run].commit);
  }
  return entry;
}

Json newest_run_json(const NewestRun& newest, const DeviceHistory& history) {
  const Json age = newest.age ? Json(newest.age->count()) : Json(nullptr);
  return {{"suite", newest.run.suite},
          {"device", history.device},
          {"backend", history.backend},
          {"run", newest.run.id},
          {"date", newest.run.date},
          {"commit", json_fields::null_if_empty(newest.run.commit)},
          {"age_seconds", age},
          {"is_stale", newest.is_stale},
          {"is_current", newest.is_current},
          {"text", to_text(newest)}};
}

class Writer {
 public:
  explicit Writer(Json& json) : json_(json) {
    for (const char* list : {"changes", "cases", "not_enough_data", "left_suite", "new", "accepted",
                             "environment_changes", "findings", "allowed_growth"}) {
      json_[list] = Json::array();
    }
  }

  void add(const DeviceTrends& device) {
    device_ = &device;
    history_ = device.history;
    for (const Change& change : device.trends.changes) add(change);
    for (const CaseStatus& one : device.statuses) add(one);
    for (const AllowedGrowth& one : device.trends.allowed_growth) {
      Json entry = case_entry(one.case_name, one.run);
      entry["metric"] = one.metric;
      entry["before"] = one.level;
      entry["after"] = one.value;
      json_["allowed_growth"].push_back(std::move(entry));
    }
    for (const NotEnoughData& one : device.trends.not_enough_data) {
      Json entry{{"case", one.case_name}, {"metric", one.metric}};
      add_device(entry);
      entry["runs"] = one.runs;
      entry["runs_needed"] = one.needed + 1;
      json_["not_enough_data"].push_back(std::move(entry));
    }
    for (const LeftSuite& one : device.trends.left_suite) {
      Json entry = case_entry(one.case_name, one.last);
      entry["new"] = one.is_news;
      json_["left_suite"].push_back(std::move(entry));
    }
    for (const NewCase& one : device.trends.new_cases) {
      Json entry = case_entry(one.case_name, one.run);
      if (!one.note.empty()) entry["note"] = one.note;
      json_["new"].push_back(std::move(entry));
    }
    for (const Acceptance& one : history_->acceptances) add(one);
    for (const EnvironmentChange& one : device.trends.environment_changes) {
      const HistoryRun& run = history_->runs[one.run];
      Json entry{{"run", run.id}, {"date", run.date}};
      add_device(entry);
      entry["what"] = one.what;
      entry["before"] = or_null(one.before);
      entry["after"] = or_null(one.after);
      json_["environment_changes"].push_back(std::move(entry));
    }
  }

 private:
  void add_device(Json& entry) const {
    entry["device"] = history_->device;
    entry["backend"] = history_->backend;
  }

  Json case_entry(const std::string& case_name, std::size_t index) const {
    Json entry{{"case", case_name}};
    add_device(entry);
    entry["run"] = history_->runs[index].id;
    entry["date"] = history_->runs[index].date;
    return entry;
  }

  void add(const Change& change) {
    const HistoryRun& first = history_->runs[change.first];
    Json entry{{"case", change.case_name}, {"metric", change.metric}};
    add_device(entry);
    entry["date"] = first.date;
    entry["run"] = first.id;
    entry.update(commits_json(*history_, change));
    entry["recovered"] = recovered_json(*device_, change);
    entry["accepted"] = accepted_json(*history_, change);
    entry["raised"] = history_->runs[change.raised].date;
    entry["raised_run"] = history_->runs[change.raised].id;
    entry["before"] = level_json(change.metric, change.before);
    entry["after"] = level_json(change.metric, change.after);
    entry["relative"] = or_null(change.relative());
    entry["now"] = change.now ? level_json(change.metric, *change.now) : Json(nullptr);
    entry["relative_now"] = or_null(change.relative_now());
    entry["verdict"] = to_string(change.verdict);
    entry["new"] = change.is_news;
    entry["state"] = change.state ? Json(to_string(*change.state)) : Json(nullptr);
    entry["section"] = to_string(find_section(*history_, change));
    entry["evidence"] = change.evidence ? Json(to_string(*change.evidence)) : Json(nullptr);
    entry["reference"] = json_fields::null_if_empty(change.reference);
    entry["allocations"] =
        change.allocations ? rows_json(moved_fields(), *change.allocations) : Json(nullptr);
    entry["levels"] = levels_text(change);
    // As a finding that has only this change.
    entry["summary"] = progress_text(join_findings({{device_, {"", {}, {&change}, {}}}}));
    entry["resolution"] = json_fields::null_if_empty(resolution_text(*history_, change));
    entry["cause"] = cause_texts(change);
    entry["message"] = json_fields::null_if_empty(change.message);
    entry["formulas"] = change.formulas;
    entry["environment"] = change.environment;
    json_["changes"].push_back(std::move(entry));
  }

  /// Skips steady cases, and cases with too few runs, which are in `not_enough_data`.
  void add(const CaseStatus& status) {
    if (status.state >= CaseState::young) return;
    Json entry{{"case", status.case_name}};
    add_device(entry);
    entry["state"] = to_string(status.state);
    entry["needs_action"] = status.needs_action();
    entry["judgement"] = to_string(status.judgement);
    entry["reason"] = json_fields::null_if_empty(status.reason);
    entry["texts"] = status.reasons();
    json_["cases"].push_back(std::move(entry));
  }

  void add(const Acceptance& acceptance) {
    const std::optional<std::size_t> run = find_run(*history_, acceptance.from_run);
    Json entry{{"case", acceptance.case_name}, {"metric", json_fields::null_if_empty(acceptance.metric)}};
    add_device(entry);
    entry["run"] = acceptance.from_run;
    entry["date"] = run ? Json(history_->runs[*run].date) : Json(nullptr);
    entry["who"] = acceptance.who;
    entry["when"] = acceptance.when;
    entry["reason"] = acceptance.reason;
    json_["accepted"].push_back(std::move(entry));
  }

  Json& json_;
  const DeviceTrends* device_ = nullptr;
  const DeviceHistory* history_ = nullptr;
};

/// An entry of `findings` with its sort keys.
struct JsonRow {
  FindingSection section{};
  CaseState state{};
  std::string date;  ///< of the change
  Json json;
};

/// Maps each change to its index in `changes`.
class ChangePlaces {
 public:
  explicit ChangePlaces(const std::vector<DeviceTrends>& devices) {
    std::size_t first = 0;
    for (const DeviceTrends& device : devices) {
      first_.emplace(&device, first);
      first += device.trends.changes.size();
    }
  }
  [[nodiscard]] std::size_t of(const DeviceTrends& device, const Change& change) const {
    return first_.at(&device) + static_cast<std::size_t>(&change - device.trends.changes.data());
  }

 private:
  std::map<const DeviceTrends*, std::size_t> first_;
};

CaseState state(Verdict verdict) {
  switch (verdict) {
    case Verdict::regression:
      return CaseState::regression;
    case Verdict::suspicious:
      return CaseState::suspicious;
    case Verdict::improvement:
      return CaseState::improvement;
    case Verdict::recovery:
      break;
  }
  return CaseState::recovery;
}

JsonRow row(const CommonFinding& finding, const ChangePlaces& places) {
  const Change& worst = finding.finding.worst();
  JsonRow row{find_section(finding), state(worst.verdict), finding.device->history->runs[worst.first].date,
              finding_json(finding)};
  // The largest step is first, across devices.
  std::vector<std::pair<const DeviceTrends*, const Change*>> members;
  for (const DeviceFinding& part : finding.parts) {
    for (const Change* const change : part.finding.changes) members.emplace_back(part.device, change);
  }
  std::ranges::stable_sort(members, is_larger, [](const auto& one) -> const Change& { return *one.second; });
  Json::array_t of_members;
  for (const auto& [device, change] : members) of_members.push_back(places.of(*device, *change));
  row.json["members"] = std::move(of_members);
  Json::array_t with_it;
  for (const Change* const change : finding.parts.front().finding.with_it) {
    if (change->case_name == worst.case_name) with_it.push_back(places.of(*finding.device, *change));
  }
  row.json["with_it"] = std::move(with_it);
  return row;
}

JsonRow row(const CaseFinding& finding) {
  const DeviceHistory& history = *finding.device->history;
  const CaseStatus& first = *finding.cases.front();
  Json::array_t cases;
  const std::string why = fmt::format("{}", fmt::join(first.reasons(), "; "));
  std::string summary = why;
  for (const CaseStatus* const one : finding.cases) cases.push_back(one->case_name);
  if (std::ranges::any_of(finding.cases,
                          [&](const CaseStatus* one) { return one->reasons() != first.reasons(); }))
    summary += ", and more";
  return {finding.section,
          finding.state,
          "",
          {{"finding", nullptr},
           {"case", first.case_name},
           {"device", history.device},
           {"backend", history.backend},
           {"variant", finding.variant},
           {"variants", {finding.variant}},
           {"metric", nullptr},
           {"verdict", to_string(finding.state)},
           {"state", nullptr},
           {"new", first.is_news},
           {"machine", nullptr},
           {"summary", summary},
           {"why", why},
           {"compare", nullptr},
           {"cases", cases},
           {"devices",
            {{{"device", history.device},
              {"backend", history.backend},
              {"new", first.is_news},
              {"cases", cases}}}},
           {"members", Json::array()},
           {"with_it", Json::array()}}};
}

/// Returns the findings by section; of one section the worst states first, closed ones newest first.
std::vector<JsonRow> finding_rows(const std::vector<DeviceTrends>& devices) {
  const ChangePlaces places(devices);
  std::vector<JsonRow> rows;
  for (const CommonFinding& one : find_common_findings(devices, [](const Change&) { return true; }))
    rows.push_back(row(one, places));
  for (const CaseFinding& one : find_case_findings(devices)) rows.push_back(row(one));
  for (JsonRow& one : rows) one.json["section"] = to_string(one.section);
  std::ranges::stable_sort(rows, [](const JsonRow& a, const JsonRow& b) {
    if (a.section != b.section) return a.section < b.section;
    return a.section == FindingSection::closed ? a.date > b.date : a.state < b.state;
  });
  return rows;
}

}  // namespace

std::string trends_json(const std::vector<DeviceTrends>& devices, ExitCode exit_code) {
  Json json = json_fields::begin(format::kTrends);
  json.update(
      Json{{"headline", headline(devices)},
           {"tally", tally(devices)},
           {"cases_needing_action", count_cases_needing_action(devices)},
           {"exit_code", static_cast<int>(exit_code)},
           {"allow_growth", devices.empty() ? GrowthAllowance{}.text : devices.front().trends.allowance.text},
           {"runs", 0}});
  json["commit_url"] =
      devices.empty() ? Json(nullptr) : json_fields::null_if_empty(devices.front().commit_url);
  json["devices"] = Json::array();
  json["branches"] = Json::array();
  json["not_compared"] = Json::array();
  json["newest_runs"] = Json::array();
  std::size_t run_count = 0;
  Writer writer(json);
  for (const DeviceTrends& device : devices) {
    const std::vector<HistoryRun>& runs = device.history->runs;
    run_count += runs.size();
    json["devices"].push_back({{"device", device.history->device},
                               {"backend", device.history->backend},
                               {"runs", runs.size()},
                               {"from", runs.empty() ? Json(nullptr) : Json(runs.front().date)},
                               {"to", runs.empty() ? Json(nullptr) : Json(runs.back().date)}});
    for (std::string& line : uncompared(*device.history)) json["not_compared"].push_back(std::move(line));
    for (const BaseRun& base : device.history->base_runs)
      json["branches"].push_back(base_run_json(base, *device.history));
    for (const NewestRun& one : device.newest)
      json["newest_runs"].push_back(newest_run_json(one, *device.history));
    writer.add(device);
  }
  for (JsonRow& row : finding_rows(devices)) json["findings"].push_back(std::move(row.json));
  json["runs"] = run_count;
  return json_fields::pretty(json, 1);
}

}  // namespace peakmark::trend
