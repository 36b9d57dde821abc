#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/compare/moved_allocations.hpp"
#include "record/ledger/ledger.hpp"

namespace peakmark {

/// One recorded run of a program that was run several times.
struct RepeatedRun {
  std::string profile;  ///< empty if there is none
  int exit_code = 0;
  std::string error;  ///< why the recording is incomplete; empty if it is complete
  /// What ended the program early (`signal 9 (Killed)`); empty if it ended normally. The recorded peak is
  /// then a lower bound.
  std::string ended_early;
  std::optional<LedgerSummary>
      summary;  ///< of all its processes, merged by time; null if nothing was recorded
};

struct RepeatedPeaks {
  std::vector<RepeatedRun> runs;
  std::optional<bool> agree;  ///< null if fewer than two recordings are complete
  std::optional<Size> min_bytes;
  std::optional<Size> max_bytes;
  std::vector<MovedBetweenLists> moved;  ///< if the peaks differ; counts of the complete recordings
};

/// Compares the peaks of complete recordings. Incomplete ones are shown, but not compared.
RepeatedPeaks repeated_peaks(std::vector<RepeatedRun> runs);

/// Returns the text for the console, verdict first. `synced`: the program ran with --sync.
std::string repeated_peaks_text(const RepeatedPeaks& peaks, bool synced);

/// Returns {program, runs: [{profile, exit_code, requested_peak_bytes, `error`}], peaks_agree, min_bytes,
/// max_bytes, moved: [{name, kind, bytes, counts}]}; unknown is null. `error` also has what ended a run
/// early.
nlohmann::ordered_json repeated_peaks_json(const RepeatedPeaks& peaks,
                                           const std::vector<std::string>& program);

}  // namespace peakmark
