#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/description.hpp"
#include "sweep/source_location.hpp"
#include "sweep/vocabulary.hpp"

namespace peakmark {

/// The band that an estimate must stay in. `check/` says what it means in slices and in bytes.
struct Window {
  double lo = 0.8;
  double hi = 1.0;
  /// Closed at both ends.
  [[nodiscard]] bool contains(double ratio) const { return lo <= ratio && ratio <= hi; }
  friend bool operator==(const Window&, const Window&) = default;
};

/// Reads `0.8:1.0`, any 0 ≤ lo ≤ hi. Throws UsageError.
Window parse_window(std::string_view text);

/// `0.8:1`, the shortest text that is read back to the same window.
std::string to_text(const Window& window);

/// What a suite says of one of its cases: facts come from the run, these come from people.
struct PlannedCase {
  std::string name;
  Case sweep_case;
  Window window;
  std::string expected_outcome = "ok";         ///< an outcome's name
  std::vector<std::string> judged_estimators;  ///< beside the variant's own
  std::string figure;  ///< the plot that shows it, as its sweep says; empty where the suite leaves it open
  std::string place;  ///< `nightly.toml:12`, of its sweep, for messages; empty where it comes from a run file
};

/// A suite, expanded: no two cases have one name; there is at least one case.
struct Suite {
  std::vector<std::filesystem::path> files;
  std::string name;                ///< of the files, joined by `+`
  std::vector<PlannedCase> cases;  ///< in the order of the file
  /// Of the cases' names and expectations, and of the suite's own programs: `--resume` compares it.
  std::string fingerprint;
  Vocabulary vocabulary;  ///< what its cases were made of
};

/// How `auto` backends are resolved: `opencl`, `cuda`, `dry`, or `auto` where there is no device.
struct ExpandOptions {
  std::string automatic_backend = "auto";
  std::optional<std::string> backend;  ///< replaces the suite's backend axis
};

/// More cases than this are a mistake, and said before memory and time are spent on them.
inline constexpr std::size_t kMaxCases = 2'000'000;

/// Reads and expands suite files; `docs/suites.md` tells the format. Each sweep expands in the order of its
/// variants, then its backends, then its axes as they stand in the file, the last one fastest.
/// Throws UsageError with `file:line: key: what, and the nearest word`.
Suite load_suites(const std::vector<std::filesystem::path>& files, const Description& description,
                  const ExpandOptions& options);

/// The worker that a suite names for its variants.
struct SuiteWorker {
  std::filesystem::path named;    ///< as it is written: `build/blur`
  std::filesystem::path program;  ///< seen from the suite's folder
  SourceLocation place;
};

/// Of the suites that name one; nullopt where none does. Throws UsageError where two name different ones.
std::optional<SuiteWorker> find_suite_worker(const std::vector<std::filesystem::path>& files);

/// The I-th of N parts (1-based), cut so that each part has every N-th case. Throws UsageError.
struct Shard {
  int index = 1;
  int count = 1;
};
Shard parse_shard(std::string_view text);
std::vector<PlannedCase> select_shard(std::vector<PlannedCase> cases, Shard shard);

}  // namespace peakmark
