#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/size.hpp"
#include "measure/device/device.hpp"

namespace peakmark {

/// The options of a worker.
struct WorkerOptions {
  bool describe = false;
  bool estimate = false;
  bool check = false;
  bool reference = false;
  std::string label;         ///< suffix of the names of variants; may be empty
  std::string cases;         ///< a file; `-`: standard input; empty: a small default set
  int observations_fd = -1;  ///< descriptor for observations, one JSON line each; −1: none
  std::optional<Backend> backend;
  std::string device;
  bool memory_only = false;
  bool no_memory = false;
  bool sequences = false;  ///< observations contain the sequence of the case's allocations
  int repeat_call = 0;     ///< further calls of each case that find leaks; 0: none
  bool guard = false;      ///< put guards around arrays, and find writes outside of them
  bool no_verify = false;
  bool require_recorder = false;
  bool report_steps = false;  ///< write a line before each step of a case, among the observations
  int repetitions = 1;
  std::optional<int> blocks;  ///< number of blocks of each timing
  bool times_only = false;    ///< the case was verified and its memory measured earlier
  double seconds_per_case = 0.3;
  std::string cache = "auto";  ///< as parse_cache_choice() reads it
  std::optional<Size> dry_budget_bytes;
  std::optional<Size> dry_max_allocation;
  Size dry_refused_allocation = 0;  ///< index, from 1, of the allocation that the dry device refuses; 0: none
  std::vector<std::string> benchmark_arguments;  ///< options of Google Benchmark

  [[nodiscard]] bool supervised() const { return observations_fd >= 0; }
};

struct ParsedWorkerOptions {
  WorkerOptions options;
  std::optional<int> exit_code;  ///< set after `--help` or an error: then the worker must end
};
ParsedWorkerOptions parse_worker_options(int argc, char** argv);

}  // namespace peakmark
