#pragma once

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "analyse/trend/case_status.hpp"
#include "analyse/trend/series.hpp"
#include "measure/runfile/run_file.hpp"

// Builds histories and runs for tests.
namespace peakmark::trend {

/// Returns a device with a run each day, `run0` on 2026-01-01, and no case.
inline DeviceHistory nightly_history(std::size_t days) {
  DeviceHistory history;
  history.device = "GPU";
  history.backend = "opencl";
  const auto first = std::chrono::sys_days(std::chrono::year(2026) / 1 / 1);
  for (std::size_t index = 0; index < days; ++index) {
    const std::chrono::year_month_day day(first + std::chrono::days(index));
    HistoryRun run;
    run.id = "run" + std::to_string(index);
    run.date = fmt::format("{:04}-{:02}-{:02}T02:00:00Z", static_cast<int>(day.year()),
                           static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()));
    run.suite = "nightly";
    run.driver = "1";
    history.runs.push_back(run);
  }
  return history;
}

/// Returns runs with the outcomes that a history has: what went well passes every rule.
inline ReadRun sample_read_run(const DeviceHistory& history) {
  return [&history](const std::string& id) {
    const std::size_t number = find_run(history, id).value();
    Run run;
    for (const CaseOutcomes& one : history.outcomes) {
      if (!one.outcomes[number]) continue;
      PlannedCase planned;
      planned.name = one.case_name;
      if (!one.is_expected.empty() && one.is_expected[number])
        planned.expected_outcome = *one.outcomes[number];
      run.context.planned.push_back(planned);
      if (*one.outcomes[number] == to_string(OutcomeLevel::lost)) continue;
      Observation observation;
      observation.case_name = one.case_name;
      observation.outcome = parse_outcome(*one.outcomes[number]);
      if (observation.outcome == Outcome::ok) {
        observation.requested_peak_bytes = 1000;
        EstimateObservation& estimate = observation.estimate.emplace();
        estimate.slices_used = 20;
        estimate.slices_estimated = 20;
        estimate.bytes_estimated = 1000;
      } else {
        observation.message = "why";
      }
      run.observations.push_back(observation);
    }
    return run;
  };
}

}  // namespace peakmark::trend
