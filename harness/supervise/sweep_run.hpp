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
  std::string not_confirmed;  ///< why nothing could be decided; empty where it could
};

struct SweepOptions {
  SelectionOptions selection;
  std::filesystem::path run_file = "run.json";
  std::optional<std::string> worker;
  /// Several at once, each with a label of its own, that the names of its variants end with; then `worker` is
  /// not set.
  std::vector<LabelledWorker> labelled_workers = {};
  bool resume = false;
  bool memory_only = false;
  bool no_wait = false;    ///< for the device
  bool host_name = false;  ///< the run file names this machine
  std::optional<int> repetitions;
  /// Of times: `cold`, `hot` or `both`; null: cold on a GPU, hot on a CPU.
  std::optional<std::string> cache = std::nullopt;
  /// Each case gets one block a round, so many rounds; with `selection.variants`, in two looks.
  std::optional<int> rounds;
  std::optional<std::uint64_t> seed;  ///< of the orders of rounds; else one that nobody chose
  CaseLimit case_limit;
  std::optional<std::chrono::milliseconds> deadline;
  /// Called before anything is started; what it throws ends the run.
  std::function<void()> check_first;
  /// Names the cases that are to be timed again at the end of the run, given what it has measured.
  std::function<CasesToConfirm(const Run&)> confirm;
};

/// `peakmark run`: measures a suite into a run file. Says what it does on standard error. Returns the exit
/// code: clean, interrupted, nothing (no case could be measured) or measurement (a case crashed, hung or was
/// wrong, and its suite does not expect that). Throws Error for everything that keeps it from measuring.
ExitCode run_sweep(const SweepOptions& options);

}  // namespace peakmark
