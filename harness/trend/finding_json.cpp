#include "trend/finding_json.hpp"

#include "trend/finding_text.hpp"

namespace peakmark::trend {

using json_fields::Json;
using json_fields::or_null;

Json finding_json(const DeviceTrends& device, const Finding& finding) {
  const DeviceHistory& history = *device.history;
  const Change& worst = finding.worst();
  const HistoryRun& before = history.runs[worst.last_before];
  const HistoryRun& run = history.runs[worst.first];
  Json entry{{"finding", finding_id(history, finding, device.notified)},
             {"case", worst.case_name},
             {"device", history.device},
             {"backend", history.backend},
             {"run", run.id},
             {"date", run.date},
             {"commit", json_fields::null_if_empty(run.commit)},
             {"commit_url", json_fields::null_if_empty(commit_link(device.commit_url, run.commit))},
             {"run_before", before.id},
             {"commit_before", json_fields::null_if_empty(before.commit)},
             {"variant", finding.variant},
             {"variants", finding.variants},
             {"metric", worst.metric},
             {"verdict", to_string(worst.verdict)},
             {"state", worst.state ? Json(to_string(*worst.state)) : Json(nullptr)},
             {"new", worst.is_news},
             {"before", level_json(worst.metric, worst.before)},
             {"after", level_json(worst.metric, worst.after)},
             {"relative", or_null(worst.relative())},
             {"why", why_text(device, finding, console_style())},
             {"compare", json_fields::null_if_empty(compare_command(history, finding))},
             {"cases", Json::array()}};
  for (const Change* const change : finding.changes) entry["cases"].push_back(change->case_name);
  return entry;
}

}  // namespace peakmark::trend
