#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"
#include "compare/peak_entries.hpp"
#include "compare/recordings.hpp"
#include "compare/time_comparison.hpp"
#include "runfile/case_pairs.hpp"
#include "runfile/run_file.hpp"
#include "runfile/throughput.hpp"

namespace peakmark {

/// One figure of bytes of a case on two sides. Exact: one byte more is `grew`, also where that is allowed.
struct BytesComparison {
  std::string metric;  ///< `requested_peak_bytes`, `setup_bytes`, `leaked_bytes`
  std::optional<Size> base;
  std::optional<Size> next;
  std::optional<double> relative;
  std::optional<Change> change;     ///< none where a side has not measured it
  bool unsteady = false;            ///< the two passes of a side differ by as much as the sides do
  bool allowed = false;             ///< it grew, and --allow-growth covers that; never of leaks
  std::vector<MovedEntries> moved;  ///< of the peak: what was live at one of them only

  /// A peak or a leak that grew. Set-up is part of the peak, and told of on its own.
  [[nodiscard]] bool is_regression() const;
};

/// One case on two sides.
struct CaseComparison {
  std::string name;       ///< of the new side
  std::string base_name;  ///< the same, unless variants are compared or a default changed
  Outcome base_outcome = Outcome::ok;
  Outcome new_outcome = Outcome::ok;
  std::string message;  ///< of the new side, where it is not ok
  bool same_device = true;
  std::vector<BytesComparison> bytes;
  std::optional<TimeComparison> time;
  Throughput base_throughput;
  Throughput new_throughput;

  [[nodiscard]] const BytesComparison* find(std::string_view metric) const;
  /// It went well and does not any more. What another device does not support says nothing of the code.
  [[nodiscard]] bool is_lost() const;
  /// No side has measured it: there is nothing to compare.
  [[nodiscard]] bool is_skipped() const;
  [[nodiscard]] bool is_regression() const;
  [[nodiscard]] bool is_improvement() const;
};

struct ComparedSide {
  std::string file;
  std::string variant;  ///< where variants are compared; else empty
  std::string id, date, commit, build, worker, device, driver, platform, host_name;
};

struct RunComparison {
  ComparedSide base;
  ComparedSide next;
  bool interleaved = false;
  GrowthAllowance allowed_growth;
  bool has_throughput = false;         ///< some case moves a known number of bytes
  std::vector<CaseComparison> cases;   ///< in the order of the new side
  std::vector<std::string> only_base;  ///< names of cases that the other side has not
  std::vector<std::string> only_new;
  std::vector<std::string> notes;  ///< what a reader must know: a run cut short, sides that differ
};

/// A run and where it was read.
struct RunToCompare {
  std::string file;
  Run run;
};

/// UsageError where device, driver, platform or build type differ without `force`, and for sides
/// without a common case.
RunComparison compare_runs(const RunToCompare& base, const RunToCompare& next, bool force,
                           const GrowthAllowance& allowed = {});

/// Two variants of one run, by name or by a short name (variant_meant_by()). UsageError where the run has
/// none of one of them, or they have no case in common.
RunComparison compare_variants(const RunToCompare& run, const std::string& old_name,
                               const std::string& new_name, const GrowthAllowance& allowed = {});

/// verdict: a peak or a leak grew, a time is slower, a case finds no memory or is not supported any more;
/// measurement: a case that went well crashes, hangs or is wrong; nothing: the new side
/// measured no case; else clean.
ExitCode exit_code_of(const RunComparison& comparison);

/// `3 of 40 cases regressed: …`: the first line of every form.
std::string headline(const RunComparison& comparison);

/// For the console: the headline, what changed with its allocations, what is undecided and why.
std::string comparison_table(const RunComparison& comparison);

/// `cases`: for each figure an object {case, metric, base, new, relative, interval, verdict, allocations} and
/// more (docs/formats.md).
std::string comparison_json(const RunComparison& comparison);

/// For a pull request: the verdict first, the worst first, under 1 MB.
std::string comparison_markdown(const RunComparison& comparison);

}  // namespace peakmark
