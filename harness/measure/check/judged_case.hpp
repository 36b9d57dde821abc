#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "measure/check/judge.hpp"

namespace peakmark {

/// One case with its observation and verdicts, as reports show it.
struct JudgedCase {
  std::string_view name;
  const PlannedCase* planned = nullptr;      ///< null: only the baseline has it
  const Observation* observation = nullptr;  ///< null: missing from the run
  std::vector<const Verdict*> verdicts;

  /// Returns the variant, taken from the name if the case is not planned.
  [[nodiscard]] std::string variant() const;
  /// Returns the worst judgement, `pass` if there is no verdict.
  [[nodiscard]] Judgement judgement() const;
  /// Returns the verdict that explains judgement(): the first of the worst ones; among warnings, that of the
  /// baseline. Null for a pass.
  [[nodiscard]] const Verdict* worst() const;
  /// Returns the figure of a rule for the variant's own estimator, null if it was not judged.
  [[nodiscard]] std::optional<double> figure(Rule rule) const;
};

/// Returns the cases in planned order, then those that only the baseline has. The result points into `run`
/// and `verdicts`.
std::vector<JudgedCase> by_case(const Run& run, const std::vector<Verdict>& verdicts);
std::vector<JudgedCase> by_case(const Run& run, std::vector<Verdict>&& verdicts) = delete;

/// Returns `nothing` if no case was measured (is_unmeasured()), else `measurement`, `verdict` or `clean`.
ExitCode exit_code_of(const Run& run, const std::vector<Verdict>& verdicts);

/// Counts cases by judgement and reason, for the first line of every report.
class Tally {
 public:
  /// `reason` may be empty.
  void add(Judgement judgement, const std::string& reason);
  /// Adds a case by its worst verdict.
  void add(const JudgedCase& judged);

  [[nodiscard]] std::size_t cases() const;
  [[nodiscard]] std::size_t count(Judgement judgement) const;
  /// Returns the number of cases by reason.
  [[nodiscard]] const std::map<std::string, std::size_t>& reasons(Judgement judgement) const;

 private:
  std::map<Judgement, std::map<std::string, std::size_t>> counts_;
};

/// Returns why a case has its judgement, in a word or two: `unsupported`, `granularity`, `crashed`,
/// `missing`, or the rule that fails. Empty for a pass.
std::string reason(const JudgedCase& judged);

/// Returns `187 cases: 178 pass, 2 as expected (2 out_of_memory), 1 skipped (1 unsupported), 3 warnings (3
/// granularity), 3 fail (2 window_bytes, 1 leak)`.
std::string headline(const Tally& tally);

}  // namespace peakmark
