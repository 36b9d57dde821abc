#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "runfile/run_file.hpp"
#include "supervise/run_selection.hpp"
#include "supervise/supervisor.hpp"

namespace peakmark {

/// `old=build/my_worker`
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
  /// Several workers, each with a label; then `worker` is not set.
  std::vector<LabelledWorker> labelled_workers = {};
  bool resume = false;
  bool memory_only = false;
  bool sequences = false;  ///< record every allocation in order; needs `memory_only`: call stacks take time
  bool asks_estimators = true;  ///< of the suites, about each case; false: nobody reads their answers
  int repeat_call = 0;          ///< further calls of each case that find leaks; 0: none
  /// Memory that the cases may use of the device; null: all of it.
  std::optional<Size> budget = std::nullopt;
  /// Bytes of the largest allocation that the cases may make; null: what the device allows.
  std::optional<Size> max_allocation = std::nullopt;
  Size refused_allocation = 0;  ///< the allocation that each process is refused, from 1; 0: none
  bool refuses_once = false;    ///< only that one; else the device stays full
  bool refuses_at_use = false;  ///< what is refused fails at its first use, not when it is created (OpenCL)
  bool no_wait = false;         ///< fail if another run uses the device
  bool host_name = false;       ///< the run file names this machine
  /// Cases are of suites: those that are skipped are reported, and failed ones with a `peakmark run` of each.
  bool reports_commands = true;
  std::optional<int> repetitions;
  /// Of times: `cold`, `hot` or `both`; null: cold on a GPU, hot on a CPU.
  std::optional<std::string> cache = std::nullopt;
  /// Number of rounds, with one block of each case in each; with `selection.variants`, per pass.
  std::optional<int> rounds;
  std::optional<std::uint64_t> seed;  ///< of the orders of rounds; null: random
  CaseLimit case_limit;
  std::optional<std::chrono::milliseconds> deadline;
  /// Called before anything starts. What it throws ends the run.
  std::function<void()> check_first;
  /// Chooses the cases that are timed again at the end of the run, from what it has measured.
  std::function<CasesToConfirm(const Run&)> confirm;
};

/// `peakmark run`: measures a suite into a run file, and reports progress on standard error. Returns the exit
/// code: clean, interrupted, nothing (no case could be measured) or measurement (a case crashed, hung or was
/// wrong, which its suite does not expect). Throws Error for everything that prevents measuring.
ExitCode run_sweep(const SweepOptions& options);

}  // namespace peakmark
