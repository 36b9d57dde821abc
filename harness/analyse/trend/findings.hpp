#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyse/trend/series.hpp"
#include "analyse/trend/trends.hpp"

namespace peakmark::trend {

/// Changes of one device with presumably one cause: they have one verdict, state and metric, and are of one
/// variant, of variants with a changed named allocation in common, or of nearly all cases of a run
/// (SharedStep). Bytes and estimates changed between the same two runs, times within 3 runs of each other.
struct Finding {
  std::string variant;                 ///< of the worst case
  std::vector<std::string> variants;   ///< all, that of the worst case first
  std::vector<const Change*> changes;  ///< one for each case, the largest step first
  std::vector<const Change*> with_it;  ///< other metrics that changed in the same cases and run

  [[nodiscard]] const Change& worst() const { return *changes.front(); }
  [[nodiscard]] bool has_case(const std::string& name) const;
};

/// Because of noise, a change of times may be found some runs later for one shape than for another.
inline constexpr std::size_t kSameTimeChangeRuns = 3;

/// Returns true if `a` is worse than `b`: the larger step in percent; of equal ones the more important
/// metric, then the larger step in its unit, then the larger level, then the first name. A step from 0 counts
/// as 100 %.
bool is_larger(const Change& a, const Change& b);
/// Orders findings: those that need action first, then the larger.
bool is_shown_before(const Finding& a, const Finding& b);

/// Groups changes of one device into findings. Those that need action come first, then the largest steps.
/// Points into `changes`.
std::vector<Finding> find_findings(const std::vector<const Change*>& changes);

/// Returns the command that compares the last good commit with the first bad one, on the cases of the
/// finding: `peakmark compare nightly.toml --commits 1a2b3c4d5e6f 9f8e7d6c5b4a --build-command BUILD --filter
/// '^(padding/coords1d)/'`. Run it in the root of the repository, with the command that builds a commit in
/// place of BUILD. Empty if a commit is unknown or has modified sources, or if both are the same commit.
std::string compare_command(const DeviceHistory& history, const Finding& finding);

/// Returns the command for all cases of two runs, given by their indices in the history.
std::string compare_command(const DeviceHistory& history, std::size_t before, std::size_t after);

/// Returns `padding/coords1d` for `padding/coords1d/opencl/n:20`.
std::string variant_name(const std::string& case_name);

/// Acceptances that one person added together: of one variant and run, with one reason.
struct AcceptedFinding {
  std::string variant;
  std::vector<const Acceptance*> acceptances;
};
std::vector<AcceptedFinding> group_acceptances(const std::vector<Acceptance>& acceptances);
/// Returns `padding/coords1d, 12 cases`, or the name of a single case.
std::string cases_text(const AcceptedFinding& finding);
/// Returns `gpu_time_ns, setup_bytes`; empty if every metric is accepted.
std::string metrics_text(const AcceptedFinding& finding);
/// Returns `padding/coords1d, 12 cases, gpu_time_ns, from run 1a2b on, by ada: a table saves time`.
std::string to_text(const AcceptedFinding& finding);

}  // namespace peakmark::trend
