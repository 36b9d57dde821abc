#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "check/judge.hpp"

namespace peakmark {

// The forms in which verdicts are shown. Each is a pure function of what judge() said, and of its options,
// which each names where they let something pass.

/// The headline of check/tally.hpp for a run, the first line of every form; says where nothing was measured.
std::string headline(const Run& run, const std::vector<Verdict>& verdicts);

/// The console's table: case, peak, set-up, top entry at the peak, time, GB/s (share of the run's own copy),
/// estimate, verdict; after it the advice on whatever did not pass, and the headline. Where the table is
/// wider than `max_width`, it leaves out the top entry, set-up, estimate and GB/s, in this order, until it
/// fits.
std::string console_table(const Run& run, const std::vector<Verdict>& verdicts,
                          std::size_t max_width = std::numeric_limits<std::size_t>::max(),
                          const JudgeOptions& options = {});

/// Markdown for a job's summary: verdict first, worst cases first, at most kMarkdownLimit.
std::string markdown(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options = {});

/// JUnit XML: a test a case, peak and ratios as properties; `fail` a failure, `failed_measurement` an error,
/// `skipped` skipped with the reason. Every other case is passed, and `system-out` has what is counted of it.
std::string junit(const Run& run, const std::vector<Verdict>& verdicts, const JudgeOptions& options = {});

/// `{"verdicts": [{case, rule, judgement, estimator, figure, bound, advice, reason}], "times": [{case,
/// gpu_time_ns, cache, gpu_time_hot_ns, throttled_blocks, throughput}], "exit_code": N, "headline": …,
/// "allow_growth": "64KiB", "window_tolerance_bytes": N}`
std::string verdicts_json(const Run& run, const std::vector<Verdict>& verdicts,
                          const JudgeOptions& options = {});

}  // namespace peakmark
