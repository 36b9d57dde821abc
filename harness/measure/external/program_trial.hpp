#pragma once

#include <filesystem>
#include <string>

#include "measure/runfile/observation.hpp"
#include "measure/sweep/description.hpp"
#include "measure/sweep/program.hpp"
#include "record/recorders/recorder_libraries.hpp"

namespace peakmark {

struct ProgramTrialOptions {
  std::string backend;  ///< of the run's device
  std::string device;   ///< its index
  bool memory_only = false;
  int repetitions = 1;      ///< number of timed runs
  bool times_only = false;  ///< memory was measured before
  /// Records every allocation of the memory pass with its call stack. Each command is then finished before
  /// the next (`sync`), so that the sequence is the same in every run.
  bool sequences = false;
  /// Number of calls that the program repeats (peakmark.repeat_call) in one more run, which finds leaks; 0:
  /// none.
  int repeat_calls = 0;
};

/// Exit codes by which a program reports its outcome (peakmark.UNSUPPORTED, peakmark.WRONG_ANSWER).
inline constexpr int kExitUnsupported = 77;
inline constexpr int kExitWrongAnswer = 78;

/// Measures one case of a program of a suite: runs it twice under the recorder for its memory, and again for
/// its time; either can be omitted. A failure of the program becomes the outcome; it is not thrown.
class ProgramTrial {
 public:
  /// Creates profiles and scratch folders in `folder`.
  ProgramTrial(const ProgramDescription& program, const RecorderLibraries& libraries,
               std::filesystem::path folder, ProgramTrialOptions options);

  [[nodiscard]] Observation measure(const SweepCase& sweep_case, const std::string& name);

 private:
  struct Pass;
  enum class PassKind { peak, synced_peak, sequence, repeated_calls, host_time, device_time };
  Pass run(const Parameters& parameters, PassKind kind, const std::string& label);
  /// Returns false for a failed pass; the observation then has the outcome.
  static bool judge(const Pass& pass, Observation& observation);
  static void note_failed_allocations(const Pass& pass, Observation& observation);
  /// Returns false if a pass failed, as judge() does.
  bool measure_memory(Observation& observation);
  void find_call_leaks(Observation& observation);
  void measure_time(Observation& observation);
  [[nodiscard]] std::vector<std::string> environment_for(const Parameters& parameters,
                                                         const ProgramPlaces& places) const;

  const ProgramDescription& program_;
  const RecorderLibraries& libraries_;
  std::filesystem::path folder_;
  ProgramTrialOptions options_;
};

}  // namespace peakmark
