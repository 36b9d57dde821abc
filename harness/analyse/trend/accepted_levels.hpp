#pragma once

#include <vector>

#include "analyse/trend/series.hpp"
#include "measure/check/judge.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark::trend {

/// Changes failing verdicts on a run to warnings (an outcome to `as_expected`) if a user accepted the
/// figures: they are not worse than in the first run of the acceptance. `history`: of the device of `run`.
/// Both `check --history` and the states of cases in `trends` decide here what is accepted:
/// - the windows of the estimator of a case by `estimate_ratio`, a leak by `leaked_bytes`, the rule
///   `baseline` by `requested_peak_bytes` and `setup_bytes`;
/// - an outcome that the suite does not expect, by the same outcome.
void accept_verdicts(const DeviceHistory& history, const Run& run, std::vector<peakmark::Verdict>& verdicts);

}  // namespace peakmark::trend
