#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/doctor.hpp"
#include "runfile/run_journal.hpp"
#include "subprocess/signals.hpp"
#include "supervise/device_lock.hpp"
#include "supervise/process_environment.hpp"
#include "supervise/progress.hpp"
#include "supervise/supervisor.hpp"
#include "supervise/sweep_run.hpp"

// What runs that measure have in common: of one build, or of two in turns.
namespace peakmark {

/// A line on standard error.
void say(const std::string& line);
void say_device(const DeviceInfo& device, bool memory_only);

/// Writes down what comes, and tells of it.
class Journaling final : public SupervisorListener {
 public:
  /// `total`: cases that come, of which `done` are there. `round`: that in which they are measured.
  Journaling(RunJournal& journal, const SweepOptions& options, const Selection& selection, std::size_t total,
             std::size_t done, std::optional<int> round = std::nullopt);

  void started(const PlannedCase& planned) override;
  void finished(const PlannedCase& planned, const Observation& measured) override;
  void reference(const ReferenceTime& time) override { references_.push_back(time); }
  void starting(std::size_t cases) override;
  void waiting() override { progress_.tick(); }
  void ended() override;
  void said(std::string_view line) override { progress_.message("worker: " + std::string(line)); }

  /// Into the run's context, which is long, and therefore written once, when all are there.
  void write_references();

 private:
  RunJournal& journal_;
  const SweepOptions& options_;
  const DeviceInfo& device_;
  const Vocabulary& vocabulary_;
  std::optional<int> round_;
  Progress progress_;
  std::vector<ReferenceTime> references_;
  /// Variant, and what was told of a case of it that went well: once, not for each of its cases.
  std::set<std::pair<std::string, std::string>> told_;
};

/// A worker, and what it is told beside the cases.
struct WorkerCall {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  /// It can be told to tell of each step: then what it died in can be named.
  bool reports_steps = false;
  /// `--cache` for it; null: it decides by the kind of its device.
  std::optional<std::string> cache = std::nullopt;
  /// The same, told that all but the times was measured before.
  [[nodiscard]] WorkerCall for_times_only() const;
};

/// Gives each worker its `--cache`. Where one of them is too old to take it, and nothing was asked for, all
/// take hot times, as that one does. Throws UsageError where something was asked for that one cannot do.
void set_cache(const std::vector<std::pair<WorkerCall*, const Description*>>& workers,
               const std::optional<std::string>& asked);

/// How a worker is supervised in a run.
using SupervisorOf = std::function<SupervisorOptions(const WorkerCall&)>;

SupervisorOptions supervisor_options(const SweepOptions& options, const DeviceInfo& device,
                                     const WorkerCall& call, const SignalWatch& signals,
                                     const RecordingEnvironment& recording,
                                     std::optional<WorkerProcess::Clock::time_point> deadline);

/// What spoils this run is said now, and stands in its file.
void note_findings(const MachineFacts& facts, const DeviceInfo& device, RunContext& context);

/// Cases that name a backend other than the device's cannot be measured in this run.
void note_unsupported(RunJournal& journal, const DeviceInfo& device);

/// Large suites take a while before their first case: says what is done in it.
void say_checking(std::size_t cases);
/// `first look: 1 of 6 cases is measured again`
std::string screening_pass_text(std::size_t chosen, std::size_t cases);

/// Begins a new run; says what becomes of an earlier one that was cut short.
void start_journal(RunJournal& journal, RunContext context, const std::filesystem::path& run_file);

/// What a run says to those that wait for its device.
DeviceLockOptions lock_options(const SweepOptions& options);

void change_context(RunJournal& journal, const std::function<void(RunContext&)>& change);

/// The reference case, as the run's first or last time of it; unless the run keeps no times. `listener` hears
/// of it too.
void note_reference(RunJournal& journal, const SupervisorOptions& supervisor, SupervisorListener& listener,
                    const DeviceInfo& device, bool last);

/// A case of a program that the suite names, which a worker of its own measures. It takes no number of
/// blocks: a run of the program is one.
bool is_program_of(const Selection& selection, const PlannedCase& planned);

/// A run that takes its times in rounds, and what measures it.
struct RoundsOfRun {
  RunJournal& journal;
  const SweepOptions& options;
  const Selection& selection;
  std::vector<WorkerCall> workers;
  /// Which of the workers measures a case that is none of a program.
  std::function<std::size_t(const PlannedCase&)> worker_of;
  bool takes_blocks;    ///< the workers can be told how many
  WorkerCall programs;  ///< of the suite's programs; without a program where it has none
  SupervisorOf supervisor_of;
};

/// Measures what is left of one round, each case once, in an order of the round's own.
Stop measure_round(const RoundsOfRun& run, int round);

}  // namespace peakmark
