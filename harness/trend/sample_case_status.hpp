#pragma once

#include <string>

#include "runfile/run_file.hpp"
#include "trend/case_status.hpp"

// Runs made by hand, for the tests of this module.
namespace peakmark::trend {

/// Returns runs with the outcomes that a history has: what went well passes every rule.
inline ReadRun runs_of(const DeviceHistory& history) {
  return [&history](const std::string& id) {
    const std::size_t number = find_run(history, id).value();
    Run run;
    for (const CaseOutcomes& one : history.outcomes) {
      if (!one.outcomes[number]) continue;
      PlannedCase planned;
      planned.name = one.case_name;
      run.context.planned.push_back(planned);
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
