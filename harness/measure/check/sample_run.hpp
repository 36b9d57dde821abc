#pragma once

#include <string>
#include <utility>

#include "measure/runfile/run_file.hpp"

namespace peakmark {

/// Builds runs for the tests of the judge and its reports.
class SampleRun {
 public:
  SampleRun() {
    run.context.id = "sample";
    run.context.suite = "sample";
    run.context.date = "2026-01-02T03:04:05Z";
    run.context.host_name = "host";
    run.context.device = "a device";
    run.context.backend = "opencl";
    run.context.driver = "1.0";
  }

  /// Adds a case with outcome ok: `used` slices, `peak` bytes, and an estimate of `slices` and `bytes`.
  Observation& add(const std::string& name, Size used, Size peak, Size slices, Size bytes) {
    plan(name);
    Observation observation;
    observation.case_name = name;
    observation.variant = "operation/variant";
    observation.backend = "opencl";
    observation.requested_peak_bytes = peak;
    observation.second_pass_peak_bytes = peak;
    observation.setup_bytes = 0;
    observation.leaked_bytes = 0;
    observation.at_peak = {{"input", "buffer", peak}};
    observation.output_dtype = "f32";
    EstimateObservation estimate;
    estimate.estimator = "own";
    estimate.form = "module";
    estimate.slices_used = used;
    estimate.slices_estimated = slices;
    estimate.bytes_estimated = bytes;
    estimate.dtype = "f32";
    observation.estimate = std::move(estimate);
    run.observations.push_back(std::move(observation));
    return run.observations.back();
  }

  /// Adds a case with another outcome.
  Observation& add_ended(const std::string& name, Outcome outcome, const std::string& message) {
    plan(name);
    Observation observation;
    observation.case_name = name;
    observation.outcome = outcome;
    observation.message = message;
    run.observations.push_back(std::move(observation));
    return run.observations.back();
  }

  PlannedCase& plan(const std::string& name) {
    PlannedCase planned;
    planned.name = name;
    planned.sweep_case.variant = "operation/variant";
    run.context.planned.push_back(std::move(planned));
    return run.context.planned.back();
  }

  Run run;
};

}  // namespace peakmark
