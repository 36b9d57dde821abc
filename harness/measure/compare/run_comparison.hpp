#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"
#include "measure/compare/moved_allocations.hpp"
#include "measure/compare/recordings.hpp"
#include "measure/compare/time_comparison.hpp"
#include "measure/runfile/case_pairs.hpp"
#include "measure/runfile/outcome_level.hpp"
#include "measure/runfile/run_file.hpp"
#include "measure/runfile/throughput.hpp"

namespace peakmark {

/// One figure in bytes of a case on two sides. One byte more is `grew`, even if the growth is allowed.
struct BytesComparison {
  std::string metric;  ///< `requested_peak_bytes`, `setup_bytes`, `leaked_bytes`
  std::optional<Size> base;
  std::optional<Size> next;
  std::optional<double> relative;
  std::optional<Change> change;         ///< null if a side has not measured it
  bool unsteady = false;                ///< the memory passes of a side differ by as much as the sides
  bool allowed = false;                 ///< --allow-growth or allow_growth covers the growth; never for leaks
  bool allowed_by_suite = false;        ///< only allow_growth of the new side's suite covers it
  bool too_small = false;               ///< the peak shrank by more than the suite's allow_shrinking
  std::vector<MovedAllocations> moved;  ///< for the peak: allocations that differ

  /// Returns true if a peak or a leak grew, or a peak is too small. Setup is part of the peak and not judged
  /// separately.
  [[nodiscard]] bool is_regression() const;
};

/// A metric that the program reports, on two sides. It is noise and not judged: limits of the suite are
/// (check).
struct MetricComparison {
  std::string name;
  std::optional<double> base;  ///< null: not reported
  std::optional<double> next;
  std::string direction;  ///< metric_direction of the new side; empty: none

  [[nodiscard]] bool differs() const { return base != next; }
  /// Returns (next − base) / |base|; null if a side is unknown or the base is 0.
  [[nodiscard]] std::optional<double> relative() const;
};

/// The part of a report that a case belongs to, the worst first.
enum class ComparisonStatus { regressed, suspicious, improved, changed, undecided, same, skipped };
std::string_view to_string(ComparisonStatus status);

/// One case on two sides.
struct CaseComparison {
  std::string name;       ///< of the new side
  std::string base_name;  ///< equal to `name`, unless variants are compared or a default changed
  Outcome base_outcome = Outcome::ok;
  Outcome new_outcome = Outcome::ok;
  OutcomeLevel base_level = OutcomeLevel::ok;
  OutcomeLevel new_level = OutcomeLevel::ok;
  std::string message;  ///< of the new side, if it is not ok
  bool same_device = true;
  std::vector<BytesComparison> bytes;
  std::vector<MetricComparison> metrics;  ///< sorted by name
  std::optional<TimeComparison> time;
  Throughput base_throughput;
  Throughput new_throughput;

  [[nodiscard]] const BytesComparison* find(std::string_view metric) const;
  /// Returns true if the outcome is worse (measure/runfile/outcome_level.hpp). `unsupported` on another
  /// device does not count.
  [[nodiscard]] bool is_lost() const;
  /// Returns true if neither side measured the case.
  [[nodiscard]] bool is_skipped() const;
  [[nodiscard]] bool is_regression() const;
  [[nodiscard]] bool is_improvement() const;
  [[nodiscard]] ComparisonStatus status() const;
};

struct ComparedSide {
  std::string file;
  std::string variant;  ///< empty unless variants are compared
  std::string id, date, commit, build, worker, device, driver, platform, host_name;
};

struct RunComparison {
  ComparedSide base;
  ComparedSide next;
  bool interleaved = false;
  GrowthAllowance allowed_growth;
  bool has_throughput = false;         ///< a case has a known number of moved bytes
  std::vector<CaseComparison> cases;   ///< in the order of the new side
  std::vector<std::string> only_base;  ///< names of cases that the new side lacks
  std::vector<std::string> only_new;
  std::vector<std::string> notes;  ///< for the reader: incomplete runs, different devices
};

/// A run and its file.
struct RunToCompare {
  std::string file;
  Run run;
};

/// Compares two runs. Throws UsageError if device, driver, platform or build type differ without `force`, and
/// if the runs have no case in common. Cases whose version differs are listed, but not compared.
RunComparison compare_runs(const RunToCompare& base, const RunToCompare& next, bool force,
                           const GrowthAllowance& allowed = {});

/// Compares two variants of one run, given by name or short name (variant_meant_by()). Throws UsageError if
/// the run lacks one of them, or they have no case in common.
RunComparison compare_variants(const RunToCompare& run, const std::string& old_name,
                               const std::string& new_name, const GrowthAllowance& allowed = {});

/// Compares each other variant of a run with one, which is given by name or short name. A variant of another
/// operation, or without a case in common, has no cases. Throws UsageError if the run lacks the variant.
std::vector<RunComparison> compare_with_variant(const RunToCompare& run, const std::string& base_name);

/// Returns
/// - measurement: a case that succeeded before now crashes, hangs or is wrong;
/// - verdict: a peak or a leak grew, a time is slower, a case is now out of memory or unsupported;
/// - nothing: the new side measured no case, or every case has another version than in the base;
/// - else clean.
ExitCode exit_code_of(const RunComparison& comparison);

/// Returns `3 of 40 cases regressed: …`, the first line of every report.
std::string headline(const RunComparison& comparison);

/// Returns `1.2 MiB -> 1.5 MiB (+25.00 %)`; empty if a side has not measured it.
std::string levels_text(const BytesComparison& bytes);
/// Returns `1.2 ms -> 1.5 ms`.
std::string levels_text(const TimeComparison& time);

/// Returns a line for the console for each of the first names of cases, and how many more there are.
std::string case_lines(const std::vector<std::string>& names);
/// Returns the text for the console: the headline, a table for each status, remarks.
std::string comparison_table(const RunComparison& comparison);

/// Returns JSON with an object for each figure: {case, metric, base, new, relative, interval, verdict,
/// allocations} and more (docs/formats.md).
nlohmann::ordered_json comparison_json(const RunComparison& comparison);

/// Returns markdown for a pull request: the verdict first, then the worst cases, under 1 MB.
std::string comparison_markdown(const RunComparison& comparison);

}  // namespace peakmark
