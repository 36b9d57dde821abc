#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/moved_allocations.hpp"
#include "ledger/ledger.hpp"

namespace peakmark {

/// One run of a program that was recorded several times.
struct RepeatedRun {
  std::string profile;  ///< empty where there is none
  int exit_code = 0;
  std::string trouble;  ///< why the recording is not whole; empty where it is
  /// What ended the program before its time (`signal 9 (Killed)`); empty where it ended by itself. Its peak
  /// is that up to there: it might have held more.
  std::string cut_off;
  std::optional<LedgerSummary>
      summary;  ///< of all its processes, merged by time; none where nothing was recorded
};

struct RepeatedPeaks {
  std::vector<RepeatedRun> runs;
  std::optional<bool> agree;  ///< none where fewer than two runs were recorded whole
  std::optional<Size> least_bytes;
  std::optional<Size> most_bytes;
  std::vector<MovedBetweenLists>
      moved;  ///< where the peaks differ; counts of the runs that were recorded whole
};

/// Runs that were cut off, or whose recording is not whole, are shown and not judged.
RepeatedPeaks repeated_peaks(std::vector<RepeatedRun> runs);

/// For the console, a verdict first. `synced`: the program ran with --sync already.
std::string repeated_peaks_text(const RepeatedPeaks& peaks, bool synced);

/// {program, runs: [{profile, exit_code, requested_peak_bytes, trouble}], peaks_agree, least_bytes,
/// most_bytes, moved: [{name, kind, bytes, counts}]}; what is unknown is null. `trouble` tells what cut a run
/// off, too.
std::string repeated_peaks_json(const RepeatedPeaks& peaks, const std::vector<std::string>& program);

}  // namespace peakmark
