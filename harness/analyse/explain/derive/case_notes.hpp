#pragma once

#include "analyse/explain/derive/run_formulas.hpp"

namespace peakmark {

/// Adds notes on possible reasons why formulas differ from the peaks of other runs: sequences whose peak
/// differs from the run file, allocations that the second pass did not repeat, memory of other processes.
void add_case_notes(RecordedCases& cases);

}  // namespace peakmark
