#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"
#include "check/baseline.hpp"
#include "runfile/run_file.hpp"

namespace peakmark {

/// What a verdict judges.
enum class Rule : std::uint8_t {
  present,        ///< a case of the suite has an observation
  outcome,        ///< the case became what the suite expects
  window_slices,  ///< lo ≤ estimated / used ≤ hi; figure: estimated / used
  window_bytes,   ///< lo ≤ peak / bytes(n) ≤ hi; figure: peak / bytes(n)
  dtype,          ///< the estimator's output dtype is the real output's
  leak,           ///< nothing is live after the case; figure: bytes
  repeat,         ///< both memory passes had one peak; figure: the difference in bytes
  kernel_time,    ///< the device's records agree with its events (runfile/kernel_time.hpp); figure: records /
                  ///< events
  baseline,  ///< peak and set-up are no more than the baseline's (baseline_rule.hpp); figure: by how many
             ///< bytes the peak is more
};
std::string_view to_string(Rule rule);

enum class Judgement : std::uint8_t {
  pass,
  counted,  ///< fails nothing, and is counted aloud: what a case that went well has to say, granularity, no
            ///< repeat, times, what a baseline has otherwise and no worse
  as_expected,         ///< an outcome other than ok that the suite expects
  skipped,             ///< the case was not measured: unsupported, out_of_memory, only in the baseline
  fail,                ///< exit 1
  failed_measurement,  ///< exit 3: crashed, timeout, wrong_answer, no observation
};
std::string_view to_string(Judgement judgement);
/// In words, for people: `as expected`, and `not measured` for a measurement that failed.
std::string_view text_of(Judgement judgement);

/// One verdict on one case.
struct Verdict {
  std::string case_name;
  Rule rule{};
  Judgement judgement{};
  std::string estimator;         ///< whose answer was judged; empty for rules that judge none
  std::optional<double> figure;  ///< the ratio, or the bytes; null where there is none
  std::optional<Window> bound;
  std::string advice;  ///< what is wrong and what to do, or why the case is skipped; empty for a pass

  /// The words of `advice` before its first colon: `unsupported`, `granularity`.
  [[nodiscard]] std::string reason() const;
};

struct JudgeOptions {
  std::optional<Window> window;         ///< replaces the suite's
  const Baseline* baseline = nullptr;   ///< what bytes are held against; null: nothing
  GrowthAllowance allowed_growth = {};  ///< of the rule `baseline`
  Size window_tolerance = 0;            ///< bytes by which a peak may miss its window (rule `window_bytes`)
};

/// `allowed growth: 64KiB (--allow-growth)`: what the options let pass, a line each, for every output.
std::vector<std::string> notes_on(const JudgeOptions& options);

/// Below so many slices one slice is more than the window's width, and no over-estimate could pass: the rule
/// in slices is left out there (`counted`), the rule in bytes stays.
inline constexpr Size kMinSlicesToJudge = 5;

/// The observations of a run by the names of their cases. UsageError where a case has two.
std::unordered_map<std::string_view, const Observation*> by_name(const Run& run);

/// Judges every planned case of a run, in the order planned; then cases that only the baseline has. The one
/// judge: console, JUnit, markdown and GoogleTest show its verdicts.
std::vector<Verdict> judge(const Run& run, const JudgeOptions& options);

/// `nothing` where no case was measured (is_unmeasured() of runfile/run_summary.hpp), else `measurement`,
/// `verdict` or `clean`.
ExitCode exit_code_of(const Run& run, const std::vector<Verdict>& verdicts);

/// The worse of two exit codes, in the order of base/error.hpp.
ExitCode worse(ExitCode a, ExitCode b);

/// Everything about one case, as the writers show it.
struct JudgedCase {
  std::string name;
  const PlannedCase* planned = nullptr;      ///< null: only the baseline has it
  const Observation* observation = nullptr;  ///< null: missing from the run
  std::vector<const Verdict*> verdicts;

  /// Of its name where it is not planned.
  [[nodiscard]] std::string variant() const;
  /// The worst of the verdicts; `pass` where there is none.
  [[nodiscard]] Judgement judgement() const;
  /// The verdict that explains it: the first of the worst ones, or the baseline's of those that are counted;
  /// null for a pass.
  [[nodiscard]] const Verdict* worst() const;
  /// The figure of a rule for the variant's own estimator; null where it was not judged.
  [[nodiscard]] std::optional<double> figure(Rule rule) const;
};

/// Verdicts by case, in the order planned, then cases that only the baseline has. The result points into
/// `run` and `verdicts`.
std::vector<JudgedCase> by_case(const Run& run, const std::vector<Verdict>& verdicts);
std::vector<JudgedCase> by_case(const Run& run, std::vector<Verdict>&& verdicts) = delete;

}  // namespace peakmark
