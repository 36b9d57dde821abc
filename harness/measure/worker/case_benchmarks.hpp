#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "measure/runfile/worker_protocol.hpp"
#include "measure/sweep/description.hpp"
#include "measure/worker/reference_case.hpp"
#include "measure/worker/trial.hpp"
#include "measure/worker/worker_devices.hpp"
#include "measure/worker/worker_options.hpp"

namespace benchmark {
class State;
}

namespace peakmark {

/// A case to measure.
struct NamedCase {
  std::string name;  ///< the requested name, which the observation has too
  SweepCase sweep_case;
};

/// The cases of a worker as Google Benchmark benchmarks, and their results.
class CaseBenchmarks {
 public:
  CaseBenchmarks(const Registry& registry, WorkerDevices& devices, const WorkerOptions& options,
                 ObservationWriter& writer);
  ~CaseBenchmarks();

  /// Registers each case with Google Benchmark. Throws UsageError for a duplicate case, and for parameters
  /// that its variant rejects, so that errors in a suite are reported before anything is measured.
  void add(const std::vector<NamedCase>& cases);

  /// Runs the benchmarks that Google Benchmark's flags select. Returns the worker's exit code.
  int run();

 private:
  class Entry;
  class Reporter;

  void measure(benchmark::State& state, Entry& entry);
  void begin(Entry& entry);
  void time_reference_if_due(Backend backend);
  void time_by_own_rule(benchmark::State& state, Entry& entry);
  void time_by_the_library(benchmark::State& state, Entry& entry);
  void report(const std::string& case_name);

  const Registry& registry_;
  WorkerDevices& devices_;
  const WorkerOptions& options_;
  ObservationWriter& writer_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::unordered_map<std::string, Entry*> entry_of_case_;
  ReferenceSchedule schedule_;
  bool stopped_ = false;  ///< the device may be broken: another process runs the other cases
  bool device_is_broken_ = false;
  bool failed_ = false;
};

}  // namespace peakmark
