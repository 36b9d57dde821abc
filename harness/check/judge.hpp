#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "run/run_file.hpp"

namespace peakmark {

/// What a verdict judges.
enum class Rule : std::uint8_t {
  outcome,        ///< the case became what the suite expects
  window_slices,  ///< lo ≤ estimated / used ≤ hi
  window_bytes,   ///< lo ≤ peak / bytes(n) ≤ hi
  dtype,          ///< the estimator's output dtype is the real output's
  leak,           ///< nothing is live after the case
  repeat,         ///< both memory passes had one peak
  present,        ///< a case of the suite has an observation
};
std::string_view name_of(Rule rule);

enum class Judgement : std::uint8_t {
  pass,
  fail,                ///< exit 1
  failed_measurement,  ///< exit 3: crashed, timeout, wrong_answer, missing
  counted,             ///< does not fail, but is counted aloud: out_of_memory, unsupported, granularity
};
std::string_view name_of(Judgement judgement);

/// One verdict on one case.
struct Verdict {
  std::string case_name;
  Rule rule{};
  Judgement judgement{};
  std::string estimator;         ///< whose answer was judged; empty for rules that judge none
  std::optional<double> figure;  ///< the ratio, or the bytes; null where there is none
  std::optional<Window> bound;
  std::string advice;  ///< what is wrong and what to do; empty for a pass
};

struct JudgeOptions {
  std::optional<Window> window;  ///< replaces the suite's
};

/// Judges every planned case of a run. The one judge: console, JUnit, markdown and GoogleTest show its
/// verdicts.
std::vector<Verdict> judge(const Run& run, const JudgeOptions& options);

/// clean, verdict, nothing (no case was measured) or measurement.
ExitCode exit_code_of(const Run& run, const std::vector<Verdict>& verdicts);

}  // namespace peakmark
