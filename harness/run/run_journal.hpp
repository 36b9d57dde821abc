#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "run/run_file.hpp"
#include "run/text_file.hpp"

namespace peakmark {

/// A run being measured. Beside the run file stands `RUN.partial`: its context and each observation as it
/// came, a line each, so that nothing is lost when we are killed. One process at a time holds it. At the end
/// the run file is written and the partial one goes.
class RunJournal {
 public:
  /// UsageError when another process measures into this run file, or it cannot be written: said here, before
  /// anything is measured.
  explicit RunJournal(std::filesystem::path run_file);
  /// Leaves the partial run for --resume, unless nothing stands in it.
  ~RunJournal();
  RunJournal(const RunJournal&) = delete;
  RunJournal& operator=(const RunJournal&) = delete;

  static std::filesystem::path partial_of(const std::filesystem::path& run_file);

  /// Begins a new run. A partial one that was there is given up. True when there was one.
  bool start(RunContext context);

  /// Goes on with the run that is there, in part or whole, if it is the same: suite and cases, device,
  /// driver, build, passes. UsageError, naming the difference, when it is another. False when there is none.
  bool resume(const RunContext& context);

  void add(const Observation& observation);
  /// Context that has changed since: warnings, reference times.
  void change(const RunContext& context);

  [[nodiscard]] const Run& run() const { return run_; }
  /// Planned, but without an observation.
  [[nodiscard]] std::vector<PlannedCase> missing() const;

  /// Writes the run file, complete or not, and removes the partial one. Observations in the order planned.
  void finish();

 private:
  void read_partial(const std::string& text);
  void check_observations() const;
  void write_all();

  std::filesystem::path run_file_;
  LineFile partial_;
  bool started_ = false;
  Run run_;
};

/// UsageError, naming what differs, when `context` is not one to go on with as `recorded`.
void check_same_run(const RunContext& recorded, const RunContext& context, const std::filesystem::path& file);

}  // namespace peakmark
