#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runfile/run_file.hpp"

namespace peakmark {

/// What a case needed when the baseline was taken.
struct BaselineCase {
  Outcome outcome = Outcome::ok;
  std::optional<Size> requested_peak_bytes;
  std::optional<Size> setup_bytes;
  std::vector<PeakEntry> at_peak;  ///< equal ones together, then by name, kind and bytes

  bool operator==(const BaselineCase&) const = default;
};

/// The bytes that each case of a run needed: what a change is held against where there is no history.
struct Baseline {
  std::map<std::string, BaselineCase> cases;  ///< by name
};

/// Of a run. UsageError for one that is not complete: the cases that it lacks would be new ones later.
Baseline baseline_of(const Run& run);

/// A committed file: a line of JSON that tells the version, then a line a case, by name, bytes exact.
/// docs/formats.md tells the keys.
std::string baseline_text(const Baseline& baseline);
/// UsageError with the line that is wrong.
Baseline parse_baseline(std::string_view text);

/// Of a file that baseline_text() wrote, or of a run file. UsageError that names the file.
Baseline read_baseline(const std::filesystem::path& path);

/// What became of the cases of a baseline that was written anew.
struct BaselineChanges {
  std::size_t added = 0;
  std::size_t changed = 0;
  std::size_t gone = 0;
};

/// UsageError where `path` holds something else than a baseline: it is not replaced then. Of a file that is
/// new, and of one whose earlier text no reader of this version understands, every case is added.
BaselineChanges write_baseline(const Baseline& baseline, const std::filesystem::path& path);

}  // namespace peakmark
