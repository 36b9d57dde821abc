#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/size.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark {

struct Baseline;

/// What a verdict judges.
enum class Rule : std::uint8_t {
  present,        ///< a case of the suite has an observation
  outcome,        ///< the case has the outcome that the suite expects
  estimator,      ///< the estimator answers with numbers
  window_slices,  ///< lo ≤ estimated / used ≤ hi; figure: estimated / used
  window_bytes,   ///< lo ≤ peak / bytes(n) ≤ hi; figure: peak / bytes(n)
  dtype,          ///< the estimator predicts the dtype of the output
  leak,           ///< nothing is live after the case; figure: bytes
  repeat,         ///< both memory passes have the same peak; figure: the difference in bytes
  kernel_time,    ///< the device's records agree with its events (runfile/kernel_time.hpp); figure: records /
                  ///< events
  limit,          ///< a limit of the suite is kept; figure: value / limit, of a metric its value
  baseline,       ///< peak and setup are at most the baseline's (baseline.hpp); figure: growth of the peak in
                  ///< bytes
};
std::string_view to_string(Rule rule);
/// Returns true for `window_slices` and `window_bytes`.
constexpr bool is_window(Rule rule) {
  return rule == Rule::window_slices || rule == Rule::window_bytes;
}

enum class Judgement : std::uint8_t {
  pass,
  warning,             ///< does not fail, and is counted with its reason; `counted` in JSON
  as_expected,         ///< an outcome other than ok that the suite expects
  skipped,             ///< the case was not measured: unsupported, out_of_memory, only in the baseline
  fail,                ///< exit 1
  failed_measurement,  ///< exit 3: crashed, timeout, wrong_answer, no observation
};
std::string_view to_string(Judgement judgement);
/// Returns the words for people: `warning`, `as expected`, `not measured`.
std::string_view label(Judgement judgement);

/// What the rule `baseline` compared a case with.
enum class BaselineMatch : std::uint8_t {
  same,           ///< the case of the baseline
  none,           ///< nothing: the baseline lacks it
  other_version,  ///< nothing: the baseline has another version of it
};

/// One verdict on one case. Its names are those of the run or the baseline, which must live as long.
struct Verdict {
  std::string_view case_name;
  Rule rule{};
  Judgement judgement{};
  std::string_view estimator;    ///< the judged estimator; empty for rules that judge none
  std::optional<double> figure;  ///< a ratio or bytes; null if the rule has none
  std::optional<Window> bound;
  std::string advice;  ///< what is wrong and what to do, or why the case is skipped; empty for a pass
  BaselineMatch match = BaselineMatch::same;

  /// Returns the words of `advice` before the first colon: `unsupported`, `granularity`.
  [[nodiscard]] std::string reason() const;
};

struct JudgeOptions {
  std::optional<Window> window;         ///< replaces the suite's
  const Baseline* baseline = nullptr;   ///< null: bytes are not compared
  GrowthAllowance allowed_growth = {};  ///< of the rule `baseline`
  Size window_tolerance = 0;            ///< bytes by which a peak may miss its window (rule `window_bytes`)
};

/// Returns a line for each option that lets something pass: `allowed growth: 64KiB (--allow-growth)`.
std::vector<std::string> notes_on(const JudgeOptions& options);

/// Below this number one slice is wider than the window, so no estimate that is too high could pass:
/// `window_slices` is a warning there, and only bytes are judged.
inline constexpr Size kMinSlicesToJudge = 5;

/// Returns the observations of a run by case name. Throws UsageError if a case has two.
std::unordered_map<std::string_view, const Observation*> by_name(const Run& run);

/// Judges every planned case of a run in planned order, then the cases that only the baseline has. Console,
/// JUnit, markdown and GoogleTest show these verdicts.
std::vector<Verdict> judge(const Run& run, const JudgeOptions& options);

/// Returns the worse of two exit codes, in the order of base/error.hpp.
ExitCode worse(ExitCode a, ExitCode b);

}  // namespace peakmark
