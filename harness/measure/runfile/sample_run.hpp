#pragma once

#include "measure/runfile/run_file.hpp"

// Returns an observation with every field set to a value that is not its default, for the tests of this
// module.
namespace peakmark {

inline Observation example_observation(const std::string& case_name) {
  Observation observation;
  observation.case_name = case_name;
  observation.axes = Parameters({{"n", Size{20}}, {"ny", Size{512}}, {"mode", std::string("edge")}});
  observation.variant = "padding/coords1d";
  observation.backend = "opencl";
  observation.outcome = Outcome::wrong_answer;
  observation.message = "off by 2 at (0, 1, 7), \"quoted\"\nand a second line";
  observation.seconds = 1.25;
  observation.requested_peak_bytes = Size{1} << 40;
  observation.first_call_peak_bytes = 12;
  observation.setup_bytes = 0;
  observation.input_bytes = 7;
  observation.output_bytes = 8;
  observation.leaked_bytes = 3;
  observation.allocations = 5;
  observation.at_peak = {{"input", "buffer", 7}, {"input", "buffer", 7}, {"output", "image", 8}};
  observation.by_kind = {{"buffer", 20}, {"host_pointer", 4}};
  observation.pool_reserved_peak_bytes = 21;
  observation.second_pass_peak_bytes = 23;
  observation.moved_allocations = {"temporary"};
  observation.allocation_sequence = {{"input", "inputs", "pad.cpp:61", 7, 0, 4},
                                     {"", "call 1", "", 3, 1, 2},
                                     {"", "call 1", "", 2, 3, std::nullopt, false, "worker.py"}};
  observation.destroys_input = true;
  observation.gpu_time = GpuTime{105, 90, 130, {{100, 90, 110}, {130, 100}}};
  observation.gpu_time_again = GpuTime{104, 91, 129, {{101, 91, 110}, {129, 104}}};
  observation.time_source = time_source::device;
  observation.cache = cache_state::cold;
  observation.gpu_time_hot = GpuTime{70, 60, 80, {{60, 70, 80}}};
  observation.throttled_blocks = 2;
  observation.kernels = {{"pad", 4, 400}};
  observation.bytes_moved = 4096;
  observation.flops = 1024;
  observation.metrics = {{"iterations", 12}, {"largest_error", 1.5e-7}};
  observation.metric_directions = {{"largest_error", "lower"}};
  observation.output_dtype = "f32";
  observation.estimate = EstimateObservation{"padding/coords1d", "direct", 20, 19, 1000, "f32", std::nullopt};
  observation.other_estimates = {
      {"planted", "module", 20, std::nullopt, std::nullopt, std::nullopt, "no such"}};
  return observation;
}

inline Run example_run() {
  Run run;
  RunContext& context = run.context;
  context.id = "20260131T020000Z-0011223344556677";
  context.date = "2026-01-31T02:00:00Z";
  context.host_name = "bench";
  context.suite = "nightly";
  context.fingerprint = "abcd";
  context.suite_files = {{"suites/nightly.toml"}};
  context.filter = "^padding/";
  context.asked_backend = "opencl";
  context.asked_cache = "both";
  PlannedCase planned;
  planned.name = "padding/coords1d/opencl/n:20/ny:512";
  planned.sweep_case = {"padding/coords1d", "opencl", Parameters({{"n", Size{20}}, {"ny", Size{512}}})};
  planned.window = {0.7, 1.1};
  planned.expected_outcome = "out_of_memory";
  planned.limits = {1 << 20,
                    1.5,
                    std::nullopt,
                    parse_allowance("5 %"),
                    parse_allowance("64 KiB"),
                    {{"iterations", std::nullopt, 30}}};
  planned.judged_estimators = {"planted"};
  planned.figure = "growth";
  context.planned = {planned};
  context.shard = Shard{2, 3, {{4}}, {"other"}};
  context.commit = "0123abc";
  context.build = "Release";
  context.worker = "peakmark-bench 0.1.0";
  context.backend = "opencl";
  context.device = "pthread-whatever \xff";  // not UTF-8
  context.driver = "3.1";
  context.platform = "Portable Computing Language";
  context.device_is_cpu = true;
  context.memory_only = true;
  context.device_memory_bytes = 123;
  context.largest_allocation_bytes = 31;
  context.clocks = {1200, 1980, std::nullopt, 3201, 5120};
  context.environment = {{"POCL_MEMORY_LIMIT", "8"}};
  context.warnings = {"debug build"};
  context.reference = {1000.5, std::nullopt, {1000.5, 900, 1100}, {20.5}, 96};
  context.complete = true;
  run.observations = {example_observation(planned.name)};
  return run;
}

}  // namespace peakmark
