#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "measure/runfile/run_journal.hpp"
#include "measure/supervise/progress.hpp"
#include "measure/supervise/supervisor.hpp"
#include "measure/supervise/sweep_run.hpp"
#include "record/subprocess/spawn.hpp"

namespace peakmark {

/// Prints a line to standard error.
void say(const std::string& line);

/// Prints what workers write: the first lines of each case, each line only once for a variant. For a failed
/// case it also prints the last lines.
class WorkerLines {
 public:
  explicit WorkerLines(Progress& progress) : progress_(progress) {}

  void started(const PlannedCase& planned);
  void said(std::string_view line);
  void finished(bool failed);

 private:
  static constexpr std::size_t kMaxLines = 5;

  void print(const std::string& line);

  Progress& progress_;
  const PlannedCase* current_ = nullptr;  ///< null between two cases
  std::size_t printed_ = 0;               ///< since the case began or ended
  std::size_t left_out_ = 0;
  LastLines last_{kMaxLines};                               ///< of the lines that were left out
  std::set<std::pair<std::string, std::string>> reported_;  ///< variant and line
};

/// Reports estimators that gave no numbers, once for each variant.
class EstimatorFailures {
 public:
  void report(const Observation& observation, Progress& progress);

 private:
  std::set<std::pair<std::string, std::string>> reported_;  ///< variant and estimator
};

/// Returns the observation of a case with what its worker does not know: the version of the case and, if the
/// run has a device class, its device.
Observation as_filed(Observation observation, const PlannedCase& planned, const RunContext& context,
                     const DeviceInfo& device);

/// Journals observations and reports progress.
class JournalListener final : public SupervisorListener {
 public:
  /// `total`: number of cases of this run or round; `done`: those that are measured already. `round`: the
  /// round in which the others are measured.
  JournalListener(RunJournal& journal, const SweepOptions& options, const Selection& selection,
                  std::size_t total, std::size_t done, std::optional<int> round = std::nullopt);

  void started(const PlannedCase& planned) override;
  void finished(const PlannedCase& planned, const Observation& measured) override;
  void reference(const ReferenceTime& time) override { references_.push_back(time); }
  void starting(std::size_t cases) override;
  void waiting() override { progress_.tick(); }
  void ended() override;
  void said(std::string_view line) override { lines_.said(line); }

  /// Writes the reference times so far into the run's context. The context is long: call it once per round,
  /// not per time.
  void write_references();

 private:
  RunJournal& journal_;
  const SweepOptions& options_;
  const DeviceInfo& device_;
  const Vocabulary& vocabulary_;
  std::optional<int> round_;
  Progress progress_;
  WorkerLines lines_{progress_};
  std::vector<ReferenceTime> references_;
  /// Variant and message: each is reported once, not for every case.
  std::set<std::pair<std::string, std::string>> reported_;
  EstimatorFailures estimator_failures_;
};

/// Returns the planned cases of `names` that have a time and no confirmation time yet.
std::vector<PlannedCase> cases_to_confirm(const Run& run, const std::vector<std::string>& names);

/// Journals confirmation times of measured cases. A case that fails in the confirmation pass keeps its
/// observation.
class ConfirmationListener final : public SupervisorListener {
 public:
  /// `device`: the device of the confirmation pass.
  ConfirmationListener(RunJournal& journal, const DeviceInfo& device, std::size_t cases);
  void started(const PlannedCase& planned) override;
  void finished(const PlannedCase& planned, const Observation& measured) override;
  void reference(const ReferenceTime& /*time*/) override {}  // the run has reference times already
  void starting(std::size_t cases) override;
  void waiting() override { progress_.tick(); }
  void ended() override;
  void said(std::string_view line) override { lines_.said(line); }

 private:
  RunJournal& journal_;
  const DeviceInfo& device_;
  Progress progress_;
  WorkerLines lines_{progress_};
};

/// Returns the command line, quoted for a shell, that measures one case again on the same device, into a
/// separate run file.
std::string reproduce_command(const SweepOptions& options, const DeviceInfo& device,
                              const PlannedCase& planned);

}  // namespace peakmark
