#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/estimate/external_estimates.hpp"
#include "measure/runfile/run_journal.hpp"
#include "measure/supervise/run_workers.hpp"
#include "measure/supervise/supervisor.hpp"
#include "measure/supervise/sweep_run.hpp"
#include "record/subprocess/signals.hpp"

namespace peakmark {

class RecordingEnvironment;

/// One side of a measurement: a run, and the workers that measure it.
struct MeasuredSide {
  std::string name;  ///< for messages: `base`; empty if there is only one side
  const SweepOptions& options;
  RunJournal& journal;
  const Selection& selection;
  std::vector<WorkerCall> workers;
  /// Returns the index in `workers` of the worker that measures a case. Not called for cases of programs.
  std::function<std::size_t(const PlannedCase&)> worker_of;
};

/// Returns true for a case of a program that the suite names, which `peakmark-programs` measures. It has no
/// number of blocks, because a run of the program is one block.
bool is_program_of(const Selection& selection, const PlannedCase& planned);

/// Measures one run, or the sides of a comparison, on one device.
///
/// In rounds, every round measures each side once, and each case once in a new random order. Sides and their
/// workers swap their order from round to round (A B, B A, A B), so that a steady drift of the machine
/// affects all sides equally. If runs have two passes, the confirmation pass repeats only the cases that may
/// have changed.
class Measurement {
 public:
  /// The deadline of the options counts from here. `signals`: the command's signals; null: this object
  /// watches them, so create it before the first call into a driver.
  explicit Measurement(const SweepOptions& options, const SignalWatch* signals = nullptr);

  [[nodiscard]] const SignalWatch& signals() const { return signals_; }

  using Conclude = std::function<void(Stop stop, std::chrono::seconds spent)>;
  /// Locks the device, measures the cases that the journals lack, asks the estimators, and calls `conclude`.
  /// If something throws, prints which partial files contain the measured cases.
  void run(const std::vector<MeasuredSide>& sides, const Conclude& conclude);

 private:
  Stop measure(const std::vector<MeasuredSide>& sides);
  Stop measure_once(const MeasuredSide& side);
  Stop measure_rounds(const std::vector<MeasuredSide>& sides);
  Stop measure_pass(const std::vector<MeasuredSide>& sides, int first, int last);
  Stop measure_round(const MeasuredSide& side, int round);
  Stop confirm(const MeasuredSide& side);
  Stop supervise_each(const MeasuredSide& side, const std::vector<const PlannedCase*>& cases,
                      SupervisorListener& listener, bool times_only);
  void note_reference(const MeasuredSide& side, bool is_last);
  [[nodiscard]] SupervisorOptions supervisor_options(const MeasuredSide& side, const WorkerCall& call) const;
  void check_time() const;

  const SweepOptions& options_;
  std::unique_ptr<const SignalWatch> own_signals_;
  const SignalWatch& signals_;
  std::vector<std::string> environment_;  ///< from before drivers changed it
  const RecordingEnvironment* recording_ = nullptr;
  std::optional<WorkerProcess::Clock::time_point> deadline_;
};

/// Asks the suite's external estimators about the measured cases. Call it after all measurements, because the
/// estimators' work would disturb the times. Each answer is journalled at once. If a limit stops it, the
/// remaining estimators stay `not_asked`, and --resume asks them. Reports progress on standard error.
Stop ask_estimators(RunJournal& journal, const Vocabulary& vocabulary, AskLimits limits);

}  // namespace peakmark
