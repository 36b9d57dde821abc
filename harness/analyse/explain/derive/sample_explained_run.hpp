#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "measure/runfile/run_file.hpp"

// Runs with allocation sequences for tests: the recordings of nabu's padding and of a filter by slices, with
// independently counted peaks.
namespace peakmark {

/// Builds the sequence of a case from its allocations and releases.
class SequenceRecorder {
 public:
  std::size_t allocate(const std::string& name, const std::string& phase, const std::string& where,
                       Size bytes, const std::string& process = "") {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    sequence_.push_back({name, phase, where, bytes, step_++, std::nullopt, true, process});
    return sequence_.size() - 1;
  }
  void release(std::size_t allocation) {
    sequence_[allocation].released_at = step_++;
    live_ -= sequence_[allocation].bytes;
  }
  void finish(Observation& observation) const {
    observation.allocation_sequence = sequence_;
    observation.requested_peak_bytes = peak_;
  }
  [[nodiscard]] const AllocationSequence& sequence() const { return sequence_; }
  [[nodiscard]] Size peak() const { return peak_; }

 private:
  AllocationSequence sequence_;
  Size step_ = 0;
  Size live_ = 0;
  Size peak_ = 0;
};

struct SampleAxes {
  Size n = 0, ny = 0, nx = 0, pad_y = 0, pad_x = 0;
};

/// Returns shapes in the way `explain` chooses them: a base, one axis at a time, then pairs.
inline std::vector<SampleAxes> sample_shapes() {
  const SampleAxes base{5, 31, 41, 7, 9};
  std::vector<SampleAxes> shapes{base};
  const std::vector<Size SampleAxes::*> axes{&SampleAxes::n, &SampleAxes::ny, &SampleAxes::nx,
                                             &SampleAxes::pad_y, &SampleAxes::pad_x};
  for (const auto axis : axes) {
    for (const Size step : {1, 2, 6, 11, 24}) {
      shapes.push_back(base);
      shapes.back().*axis += step;
    }
  }
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = a + 1; b < axes.size(); ++b) {
      shapes.push_back(base);
      shapes.back().*axes[a] += 4;
      shapes.back().*axes[b] += 13;
    }
  }
  return shapes;
}

inline Observation sample_observation(const std::string& variant, const SampleAxes& shape,
                                      const std::vector<std::pair<std::string, std::string>>& words) {
  Observation observation;
  observation.variant = variant;
  observation.backend = "opencl";
  std::vector<std::pair<std::string, AxisValue>> axes{
      {"n", shape.n}, {"ny", shape.ny}, {"nx", shape.nx}, {"pad_y", shape.pad_y}, {"pad_x", shape.pad_x}};
  for (const auto& [axis, word] : words) axes.emplace_back(axis, word);
  observation.axes = Parameters(std::move(axes));
  observation.case_name = full_case_name({variant, "opencl", observation.axes});
  return observation;
}

/// Returns padding of a stack with two 2-D coordinate arrays (nabu 2023.2.0), which `constant` does not need.
inline Observation padding_observation(const SampleAxes& s, const std::string& mode, Size itemsize = 4) {
  Observation observation =
      sample_observation("padding/nabu", s, {{"mode", mode}, {"dtype", itemsize == 4 ? "f32" : "f64"}});
  SequenceRecorder recorder;
  const Size padded = (s.ny + 2 * s.pad_y) * (s.nx + 2 * s.pad_x);
  recorder.allocate("image", "inputs", "nabu_padding.py:61", itemsize * s.n * s.ny * s.nx);
  recorder.allocate("padded", "outputs", "nabu_padding.py:64", itemsize * s.n * padded);
  if (mode != "constant") {
    recorder.allocate("row coordinates", "setup", "padding.py:88", 4 * padded);
    recorder.allocate("column coordinates", "setup", "padding.py:89", 4 * padded);
  }
  recorder.finish(observation);
  return observation;
}

/// Returns a filter like that of httomolib: a temporary for odd widths only, a plan that is rounded to 512
/// bytes, and a float64 line for each slice.
inline Observation filter_observation(const SampleAxes& s) {
  Observation observation = sample_observation("filter/stripes", s, {});
  SequenceRecorder recorder;
  recorder.allocate("stack", "inputs", "tomolib.py:10", 4 * s.n * s.ny * s.nx);
  recorder.allocate("result", "outputs", "tomolib.py:11", 4 * s.n * s.ny * s.nx);
  recorder.allocate("plan", "setup", "tomolib.py:20", (12 * s.ny * s.nx + 511) / 512 * 512);
  recorder.allocate("weights", "call 1", "tomolib.py:30", 8 * s.n * s.nx);
  if (s.nx % 2 == 1) recorder.allocate("even copy", "call 1", "tomolib.py:40", 4 * s.n * s.ny * (s.nx + 1));
  recorder.finish(observation);
  return observation;
}

/// Returns a program that starts another one for each stack and waits for it: the weights belong to the other
/// process.
inline Observation launcher_observation(const SampleAxes& s) {
  Observation observation = sample_observation("program/launcher", s, {});
  SequenceRecorder recorder;
  recorder.allocate("stack", "", "launcher.py:10", 4 * s.n * s.ny * s.nx);
  recorder.release(recorder.allocate("work", "", "filters.py:7", 8 * s.ny * s.nx, "worker.py"));
  recorder.allocate("work", "", "filters.py:7", 8 * s.nx);
  recorder.finish(observation);
  return observation;
}

inline Run sample_explained_run(const std::function<void(Run&, const SampleAxes&)>& add) {
  Run run;
  run.context.id = "20260131T020000Z-0011223344556677";
  run.context.date = "2026-01-31T02:00:00Z";
  run.context.suite = "nightly";
  run.context.device = "pocl";
  run.context.backend = "opencl";
  run.context.driver = "3.1";
  run.context.worker = "peakmark-bench 0.1.0";
  run.context.complete = true;
  for (const SampleAxes& shape : sample_shapes()) add(run, shape);
  return run;
}

/// Returns a blur with lines of 2·⌈3·sigma⌉ + 1 weights.
inline Observation blur_observation(const SampleAxes& shape, double sigma) {
  Observation observation = sample_observation("blur/one", shape, {});
  observation.axes.set("sigma", sigma);
  const Size weights = 2 * static_cast<Size>(std::ceil(3 * sigma)) + 1;
  SequenceRecorder recorder;
  recorder.allocate("image", "inputs", "blur.cpp:1", 4 * shape.n * shape.ny * shape.nx);
  recorder.allocate("lines", "setup", "blur.cpp:2", 4 * weights * shape.nx);
  recorder.finish(observation);
  return observation;
}

inline Run blur_run() {
  return sample_explained_run([](Run& run, const SampleAxes& shape) {
    for (const double sigma : {0.5, 1.0, 0.6}) run.observations.push_back(blur_observation(shape, sigma));
  });
}

inline Run padding_run(const std::vector<std::string>& modes, const std::vector<Size>& item_sizes = {4}) {
  return sample_explained_run([&](Run& run, const SampleAxes& shape) {
    for (const std::string& mode : modes) {
      for (const Size item_size : item_sizes)
        run.observations.push_back(padding_observation(shape, mode, item_size));
    }
  });
}

inline Run launcher_run() {
  return sample_explained_run(
      [](Run& run, const SampleAxes& shape) { run.observations.push_back(launcher_observation(shape)); });
}

inline Run filter_run() {
  return sample_explained_run(
      [](Run& run, const SampleAxes& shape) { run.observations.push_back(filter_observation(shape)); });
}

/// Adds to each case an allocation at the peak whose size follows no formula.
inline void add_random_workspace(Run& run) {
  Size random = 12345;
  for (Observation& observation : run.observations) {
    random = (random * 1103515245 + 12345) % 2147483648;
    AllocationSequence& sequence = *observation.allocation_sequence;
    sequence.push_back({"workspace", "call 1", "", random, sequence.back().allocated_at + 1, std::nullopt});
    *observation.requested_peak_bytes += random;
  }
}

}  // namespace peakmark
