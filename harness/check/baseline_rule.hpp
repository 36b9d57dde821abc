#pragma once

#include <vector>

#include "base/size.hpp"
#include "check/baseline.hpp"
#include "check/judge.hpp"

namespace peakmark {

/// The rule `baseline` for every case that the run or the baseline has; those that only the baseline has come
/// last, by name.
///
/// More bytes at the peak or after set-up fail, and so does a case that went well and does not now; the text
/// names the allocations that moved. Growth that `allowed` covers is counted. Fewer bytes are counted aloud
/// until somebody writes the baseline anew, and so are new cases; a case that only the baseline has is
/// skipped. A crash, a hang or a wrong answer is the rule `outcome`'s alone.
///
/// UsageError where run and baseline have no case in common: nothing would be judged; and as by_name().
std::vector<Verdict> judge_baseline(const Run& run, const Baseline& baseline,
                                    const GrowthAllowance& allowed = {});

}  // namespace peakmark
