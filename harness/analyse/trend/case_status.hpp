#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trend/trends.hpp"
#include "measure/check/judge.hpp"
#include "measure/check/judged_case.hpp"

namespace peakmark::trend {

/// The state of a case after the newest run that planned it, the worst first.
enum class CaseState : std::uint8_t {
  regression,   ///< a regression is open
  failed,       ///< the measurement failed
  window,       ///< an estimate is outside its window
  rule,         ///< another rule of `check` fails
  suspicious,   ///< a change that is not confirmed yet
  left_suite,   ///< its suite no longer has it
  as_on_base,   ///< on a branch: fails the same rules as on the base branch
  skipped,      ///< not measured, as in earlier runs
  as_expected,  ///< an outcome other than `ok` that the suite expects, or that was accepted
  improvement,  ///< of the last 30 runs; `recovery` too
  recovery,
  is_new,
  young,  ///< too few runs to judge times; bytes are judged
  steady,
};
std::string_view to_string(CaseState state);

struct CaseStatus {
  std::string case_name;
  CaseState state{};
  /// Judgement and reason, by which the headline counts cases.
  Judgement judgement{};
  std::string reason;
  /// Why the case failed, is outside its window or was skipped, one sentence per reason. Empty for changes.
  std::vector<std::string> texts;
  /// Why estimates outside their window are wrong, by formulas: the same for all cases of a variant. Empty if
  /// unknown.
  std::vector<std::string> causes = {};
  bool is_news = false;  ///< for `left_suite`: only the last run of the suite lacks the case

  /// Returns what reports show: the causes if they are known, else the texts.
  [[nodiscard]] const std::vector<std::string>& reasons() const { return causes.empty() ? texts : causes; }

  /// Returns true from `regression` to `suspicious`.
  [[nodiscard]] bool needs_action() const;
};

/// Returns a run of the history by its id.
using ReadRun = std::function<Run(const std::string& id)>;

/// Returns the status of every case of a device, by name: from its trends, and from judge() on the newest run
/// that planned it. If that run is followed by 30 or more others, its cases are skipped. On a branch, a case
/// fails only by rules that pass in the compared run of the base branch; cases that the branch's runs leave
/// out are skipped.
std::vector<CaseStatus> find_case_statuses(const DeviceHistory& history, const Trends& trends,
                                           const ReadRun& read_run);

}  // namespace peakmark::trend
