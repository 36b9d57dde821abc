#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "measure/runfile/run_file.hpp"

// Builds runs for tests.
namespace peakmark::history {

inline constexpr Size kMiB = Size{1} << 20;

/// Returns a case with outcome ok: input and output have `mib` MiB each, a call takes `ns`, in three blocks.
inline Observation sample_observation(const std::string& name, Size mib, double ns) {
  Observation observation;
  observation.case_name = name;
  observation.axes = Parameters({{"n", Size{20}}, {"mode", std::string("edge")}});
  observation.variant = name.substr(0, name.find("/opencl"));
  observation.backend = "opencl";
  observation.requested_peak_bytes = 2 * mib * kMiB;
  observation.setup_bytes = 0;
  observation.leaked_bytes = 0;
  observation.at_peak = {{"input", "buffer", mib * kMiB}, {"output", "buffer", mib * kMiB}};
  observation.by_kind = {{"buffer", 2 * mib * kMiB}};
  observation.gpu_time = GpuTime{ns, ns - 2, ns + 5, {{ns - 2, ns - 1}, {ns, ns}, {ns + 5, ns + 5}}};
  observation.time_source = "device";
  observation.kernels = {{"pad", 2, static_cast<std::int64_t>(ns)}};
  observation.output_dtype = "f32";
  observation.estimate = EstimateObservation{"own", "module", 20, 20, 4 * mib * kMiB, "f32", std::nullopt};
  return observation;
}

/// Builds a complete run on a device.
class SampleHistoryRun {
 public:
  SampleHistoryRun(const std::string& id, const std::string& date, const std::string& device = "a device") {
    run.context.id = id;
    run.context.date = date;
    run.context.host_name = "host";
    run.context.suite = "nightly";
    run.context.fingerprint = "abcd";
    run.context.commit = "c-" + id;
    run.context.build = "Release";
    run.context.worker = "peakmark-bench";
    run.context.backend = "opencl";
    run.context.device = device;
    run.context.driver = "3.1";
    run.context.platform = "a platform";
    run.context.environment = {{"kernel", "Linux"}};
    run.context.reference = {100, 104, {100, 102, 104}, {50}};
    run.context.complete = true;
  }

  Observation& add(const std::string& name, Size mib = 1, double ns = 1000) {
    PlannedCase planned;
    planned.name = name;
    planned.sweep_case.variant = name.substr(0, name.find("/opencl"));
    planned.sweep_case.backend = "opencl";
    planned.figure = "growth";
    run.context.planned.push_back(std::move(planned));
    run.observations.push_back(sample_observation(name, mib, ns));
    return run.observations.back();
  }

  Run run;
};

/// Returns the run of a day (1 …) of January 2026 with two cases.
inline SampleHistoryRun sample_history_run(int day, Size mib = 1, double ns = 1000,
                                           const std::string& device = "a device") {
  SampleHistoryRun sample(fmt::format("{}-{:02}", device == "a device" ? "run" : device, day),
                          fmt::format("2026-01-{:02}T02:00:00Z", day), device);
  sample.add("op/b/opencl/n:2", mib, ns);
  sample.add("op/a/opencl", 1, 2 * ns);
  return sample;
}

}  // namespace peakmark::history
