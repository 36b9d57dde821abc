#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/supervise/run_selection.hpp"
#include "measure/supervise/supervisor.hpp"

namespace peakmark {

/// A worker and its label: `old=build/my_worker`.
struct LabelledWorker {
  std::string label;
  std::string program;
};

struct CasesToConfirm {
  std::vector<std::string> names;
  std::string not_confirmed;  ///< why no cases could be chosen; else empty
};

struct SweepOptions {
  SelectionOptions selection;
  std::filesystem::path run_file = "run.json";
  std::optional<std::string> worker;
  /// Several workers, each with a label; `worker` is then not set.
  std::vector<LabelledWorker> labelled_workers = {};
  bool resume = false;
  bool memory_only = false;
  bool sequences = false;  ///< record every allocation in order; needs `memory_only`: call stacks take time
  /// Ask the suites' estimators about each case; false: their answers are not used.
  bool asks_estimators = true;
  int repeat_call = 0;  ///< further calls of each case that find leaks; 0: none
  bool guard = false;   ///< put guards around the arrays of workers; needs `memory_only`
  /// Device memory that the cases may use; null: all of it.
  std::optional<Size> budget = std::nullopt;
  /// Maximum bytes of one allocation; null: what the device allows.
  std::optional<Size> max_allocation = std::nullopt;
  Size refused_allocation =
      0;                      ///< number, from 1, of the allocation that is refused in each process; 0: none
  bool refuses_once = false;  ///< refuse only that one; else the device stays full
  /// A refused allocation fails at its first use, not when it is created (OpenCL).
  bool refuses_at_use = false;
  bool no_wait = false;    ///< fail if another run uses the device
  bool host_name = false;  ///< the run file contains the name of this machine
  /// Cases are from suites: skipped ones are reported, and failed ones with the `peakmark run` command for
  /// each.
  bool reports_commands = true;
  std::optional<int> repetitions;
  /// Kind of times: `cold`, `hot` or `both`; null: cold on a GPU, hot on a CPU.
  std::optional<std::string> cache = std::nullopt;
  /// Number of rounds, each with one block of every case; with `selection.variants`, per pass.
  std::optional<int> rounds;
  std::optional<std::uint64_t> seed;  ///< of the random order of rounds; null: random
  CaseLimit case_limit;
  std::optional<std::chrono::milliseconds> deadline;
  /// Called first. Its exception ends the run.
  std::function<void()> check_first;
  /// Chooses, from the run so far, the cases that are timed again at the end of the run.
  std::function<CasesToConfirm(const Run&)> confirm;
};

/// Implements `peakmark run`: measures a suite into a run file, and reports progress on standard error.
/// Returns the exit code: clean, interrupted, nothing (no case could be measured) or measurement (a case
/// crashed, hung or was wrong, which its suite does not expect). Throws Error for everything that prevents
/// measuring.
ExitCode run_sweep(const SweepOptions& options);

}  // namespace peakmark
