#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "check/judge.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

/// The bytes of a case when the baseline was written.
struct BaselineCase {
  Outcome outcome = Outcome::ok;
  std::optional<Size> requested_peak_bytes;
  std::optional<Size> setup_bytes;
  std::vector<PeakEntry> at_peak;  ///< sorted by name, kind and bytes

  bool operator==(const BaselineCase&) const = default;
};

/// The bytes of each case of a run, to compare later runs with where there is no history.
struct Baseline {
  std::map<std::string, BaselineCase> cases;  ///< by name
};

/// Returns the baseline of a run. Throws UsageError if the run is incomplete: its missing cases would be new
/// ones later.
Baseline make_baseline(const Run& run);

/// Returns the text of a baseline file: a line of JSON with the version, then a line for each case, by name
/// (docs/formats.md).
std::string baseline_text(const Baseline& baseline);
/// Throws UsageError with the number of the malformed line.
Baseline parse_baseline(std::string_view text);

/// Reads a baseline file or a run file. Throws UsageError with the file's name.
Baseline read_baseline(const std::filesystem::path& path);

/// How the cases of an updated baseline differ from those before.
struct BaselineChanges {
  std::size_t added = 0;
  std::size_t changed = 0;
  std::size_t gone = 0;
};

/// Replaces the baseline in `path`. Every case counts as added if the file is new or was unreadable. Throws
/// UsageError if `path` is not a baseline.
BaselineChanges write_baseline(const Baseline& baseline, const std::filesystem::path& path);

/// Returns the verdicts of the rule `baseline` for the cases of the run, then for those that only the
/// baseline has, by name.
/// - fail: more bytes at the peak or after setup than `allowed` covers, with the allocations that changed; a
///   case that succeeded before and is out of memory or unsupported now.
/// - warning: allowed growth; fewer bytes and new cases, until the baseline is updated.
/// - skipped: a case that only the baseline has.
/// Crashes, hangs and wrong answers belong to the rule `outcome`.
///
/// Throws UsageError if run and baseline have no case in common, and as by_name().
std::vector<Verdict> judge_baseline(const Run& run, const Baseline& baseline,
                                    const GrowthAllowance& allowed = {});

}  // namespace peakmark
