#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "measure/sweep/description.hpp"
#include "measure/sweep/limits.hpp"
#include "measure/sweep/source_location.hpp"
#include "measure/sweep/vocabulary.hpp"

namespace peakmark {

/// The window that an estimate must stay in (measure/check/judge.hpp).
struct Window {
  double lo = 0.8;
  double hi = 1.0;
  /// Includes both bounds.
  [[nodiscard]] bool contains(double ratio) const { return lo <= ratio && ratio <= hi; }
  friend bool operator==(const Window&, const Window&) = default;
};

/// Parses `0.8:1.0`, with 0 ≤ lo ≤ hi. Throws UsageError.
Window parse_window(std::string_view text);

/// Returns the shortest text for the same window: `0.8:1`.
std::string to_text(const Window& window);

/// A case of a suite with its expectations.
struct PlannedCase {
  std::string name;
  SweepCase sweep_case;
  Window window;
  std::string expected_outcome = "ok";  ///< an outcome's name
  Limits limits;
  std::vector<std::string> judged_estimators;  ///< in addition to the variant's default one
  /// From 1 on. The suite increases it when a variant does different work than before: its results begin a
  /// new series.
  Size version = 1;
  std::string figure;  ///< the plot that shows it; empty if its sweep names none
  std::string place;   ///< `nightly.toml:12`, its sweep, for messages; empty if read from a run file
};

/// An expanded suite: at least one case, with unique names.
struct Suite {
  std::vector<std::filesystem::path> files;
  std::string name;                ///< of the files, joined by `+`
  std::vector<PlannedCase> cases;  ///< in the order of the file
  /// Fingerprint of names, expectations and programs. `--resume` compares it.
  std::string fingerprint;
  Vocabulary vocabulary;  ///< variants, programs and estimators of its cases
};

/// The backend that replaces `auto`: `opencl`, `cuda`, `dry`, or `auto` without a device.
struct ExpandOptions {
  std::string automatic_backend = "auto";
  std::optional<std::string> backend;  ///< replaces the suite's backend axis
  /// Replace the sweeps of the suites, which then only describe programs and estimators.
  std::vector<std::string> variants = {};
  /// Replace the axes of the sweeps whose variants all have them: `nx=4096,8192` (parse_typed_axes).
  std::vector<std::string> axes = {};
};

/// Larger suites are refused before they use memory and time.
inline constexpr std::size_t kMaxCases = 2'000'000;

/// Reads and expands suite files (docs/suites.md). A sweep expands in the order of its variants, backends,
/// and axes in the file, the last one fastest. Throws UsageError with `file:line: key: what` and the nearest
/// word.
Suite load_suites(const std::vector<std::filesystem::path>& files, const Description& description,
                  const ExpandOptions& options);

/// The worker of a suite's variants.
struct SuiteWorker {
  std::filesystem::path named;    ///< as written: `build/blur`
  std::filesystem::path program;  ///< relative to the suite's folder
  SourceLocation place;
};

/// Returns the worker that suites name, null if none does. Throws UsageError if they name different ones.
std::optional<SuiteWorker> find_suite_worker(const std::vector<std::filesystem::path>& files);

/// Part I (from 1) of N: every N-th case, or a balanced part.
struct Shard {
  int index = 1;
  int count = 1;
  /// For a balanced part: the place of each of its cases in the list of all cases, from 0, ascending.
  std::optional<std::vector<std::int64_t>> places = std::nullopt;
  /// Names of the cases of the other parts, in the order of the suite: if a part is missing, a merge names
  /// its cases. Empty if unknown.
  std::vector<std::string> other_cases = {};
};
/// Parses `2/4`. Throws UsageError.
Shard parse_shard(std::string_view text);
/// Returns every N-th case from the I-th on, and sets `shard.other_cases`.
std::vector<PlannedCase> select_shard(std::vector<PlannedCase> cases, Shard& shard);

/// Seconds of earlier measurements, by case name.
using CaseSeconds = std::unordered_map<std::string, double>;
/// Returns one of N parts that take about the same time, and sets `shard.places` and `shard.other_cases`. The
/// longest cases are distributed first, each to the part with the fewest seconds so far. A case without
/// recorded seconds counts as the mean of the others. Equal cases and seconds give equal parts on every
/// machine.
std::vector<PlannedCase> select_balanced_shard(std::vector<PlannedCase> cases, Shard& shard,
                                               const CaseSeconds& recorded);

}  // namespace peakmark
