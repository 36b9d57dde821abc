#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "measure/check/judged_case.hpp"

namespace peakmark {

// Reports of verdicts: pure functions of the result of judge(). Each names the options that let something
// pass.

/// Returns the headline of a run, the first line of every form. It says if nothing was measured.
std::string headline(const Run& run, const std::vector<Verdict>& verdicts);

/// Returns the console's table, one of the kinds of memory if the run has several, the advice on all cases
/// that did not pass, and the headline. A table wider than `max_width` loses the columns for the top entry,
/// setup, estimate and GB/s, in this order, until it fits.
std::string console_table(const Run& run, const std::vector<Verdict>& verdicts,
                          std::size_t max_width = std::numeric_limits<std::size_t>::max(),
                          const JudgeOptions& options = {});

/// Returns markdown for a job's summary: the verdict first, then the worst cases, at most kMarkdownLimit
/// bytes.
std::string markdown(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options = {});

/// Why the failed estimates of a variant are wrong, as explain() finds it: lines of text.
struct EstimateCauses {
  std::string variant;
  std::string text;
};

/// Returns JUnit XML: a test for each case, with peak and ratios as properties. `fail` is a failure,
/// `failed_measurement` an error, `skipped` is skipped with its reason. Every other case passes; warnings are
/// in `system-out`. Causes are in the failures of their variant, and all once in `system-out` of the suite.
std::string junit(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options = {},
                  const std::vector<EstimateCauses>& causes = {});

/// Returns `{"verdicts": [{case, rule, judgement, estimator, figure, bound, advice, reason}], "times":
/// [{case, gpu_time_ns, cache, gpu_time_hot_ns, throttled_blocks, throughput}], "kinds": [{case, by_kind}],
/// "metrics": [{case, metrics, metric_directions}], "exit_code": N, "headline": …, "allow_growth": "64KiB",
/// "window_tolerance_bytes": N}`
nlohmann::ordered_json verdicts_json(const Run& run, const std::vector<Verdict>& verdicts,
                                     const JudgeOptions& options = {});
/// Returns only `headline`, `exit_code` and `cases` of it: a tenth of the bytes, for reports of many cases.
nlohmann::ordered_json cases_only_json(const Run& run, const std::vector<Verdict>& verdicts);

}  // namespace peakmark
