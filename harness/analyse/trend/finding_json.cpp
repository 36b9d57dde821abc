#include "analyse/trend/finding_json.hpp"

#include <set>
#include <string_view>
#include <utility>

#include "analyse/trend/finding_text.hpp"

namespace peakmark::trend {

using json_fields::Json;
using json_fields::or_null;

namespace {

/// Returns the device, its first bad run and last good run, and its cases.
Json part_json(const DeviceFinding& part) {
  const DeviceHistory& history = *part.device->history;
  const Change& worst = part.finding.worst();
  Json::array_t cases;
  for (const Change* const change : part.finding.changes) cases.push_back(change->case_name);
  return {{"device", history.device},
          {"backend", history.backend},
          {"run", history.runs[worst.first].id},
          {"run_before", history.runs[worst.last_before].id},
          {"date", history.runs[worst.first].date},
          {"new", worst.is_news},
          {"cases", std::move(cases)}};
}

}  // namespace

Json commits_json(const DeviceHistory& history, const Change& change) {
  const HistoryRun& before = history.runs[change.last_before];
  const HistoryRun& run = history.runs[change.first];
  return {{"commit", json_fields::null_if_empty(run.commit)},
          {"commit_subject", json_fields::null_if_empty(run.commit_text.subject)},
          {"commit_author", json_fields::null_if_empty(run.commit_text.author)},
          {"commit_before", json_fields::null_if_empty(before.commit)},
          {"commits_between", or_null(commits_between(before, run))}};
}

Json accepted_json(const DeviceHistory& history, const Change& change) {
  if (!change.acceptance) return nullptr;
  const Acceptance& one = history.acceptances[*change.acceptance];
  return {{"who", one.who}, {"when", one.when}, {"reason", one.reason}};
}

Json recovered_json(const DeviceTrends& device, const Change& change) {
  if (!change.recovered_in) return nullptr;
  const HistoryRun& run = device.history->runs[*change.recovered_in];
  return {{"run", run.id},
          {"date", run.date},
          {"commit", json_fields::null_if_empty(run.commit)},
          {"commit_url", json_fields::null_if_empty(commit_link(device.commit_url, run.commit))},
          {"commit_subject", json_fields::null_if_empty(run.commit_text.subject)},
          {"commit_author", json_fields::null_if_empty(run.commit_text.author)}};
}

Json finding_json(const CommonFinding& common) {
  const DeviceTrends& device = *common.device;
  const Finding& finding = common.finding;
  const DeviceHistory& history = *device.history;
  const Change& worst = finding.worst();
  const HistoryRun& before = history.runs[worst.last_before];
  const HistoryRun& run = history.runs[worst.first];
  Json entry{{"finding", finding_id(common, device.notified)},
             {"case", worst.case_name},
             {"device", history.device},
             {"backend", history.backend},
             {"run", run.id},
             {"date", run.date},
             {"commit_url", json_fields::null_if_empty(commit_link(device.commit_url, run.commit))},
             {"run_before", before.id},
             {"recovered", recovered_json(device, worst)},
             {"variant", finding.variant},
             {"variants", finding.variants},
             {"metric", worst.metric},
             {"verdict", to_string(worst.verdict)},
             {"state", worst.state ? Json(to_string(*worst.state)) : Json(nullptr)},
             {"new", common.is_new()},
             {"before", level_json(worst.metric, worst.before)},
             {"after", level_json(worst.metric, worst.after)},
             {"relative", or_null(worst.relative())},
             {"now", worst.now ? level_json(worst.metric, *worst.now) : Json(nullptr)},
             {"relative_now", or_null(worst.relative_now())},
             {"machine", json_fields::null_if_empty(machine_text(history, finding))},
             {"summary", progress_text(common)},
             {"why", why_text(device, finding, console_style())},
             {"compare", json_fields::null_if_empty(compare_command(history, finding))},
             {"cases", Json::array()},
             {"devices", Json::array()}};
  entry.update(commits_json(history, worst));
  std::set<std::string_view> names;
  for (const Change* const change : finding.changes) {
    if (names.insert(change->case_name).second) entry["cases"].push_back(change->case_name);
  }
  for (const DeviceFinding& part : common.parts) entry["devices"].push_back(part_json(part));
  return entry;
}

}  // namespace peakmark::trend
