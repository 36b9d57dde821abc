#pragma once

#include <vector>

#include "analyse/trend/series.hpp"
#include "measure/check/judge.hpp"
#include "measure/runfile/run_file.hpp"

namespace peakmark::trend {

/// Makes warnings, or of an outcome `as_expected`, of the failing verdicts on a run whose figures somebody
/// accepted: they are not worse than those of the run from which the acceptance is. `history`: of the device
/// of `run`. The one place by which `check --history` and the states of cases in `trends` know what is
/// accepted:
/// - the windows of the estimator of a case by `estimate_ratio`, a leak by `leaked_bytes`, the rule
/// `baseline` by
///   `requested_peak_bytes` and `setup_bytes`;
/// - an outcome that the suite does not expect, by the same outcome.
void accept_verdicts(const DeviceHistory& history, const Run& run, std::vector<peakmark::Verdict>& verdicts);

}  // namespace peakmark::trend
