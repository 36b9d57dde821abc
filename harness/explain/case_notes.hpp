#pragma once

#include "explain/run_formulas.hpp"

namespace peakmark {

/// Adds notes on what may make formulas differ from the peaks of other runs: sequences that have another peak
/// than the run file, allocations that the second pass did not repeat, memory of other processes.
void add_case_notes(RecordedCases& cases);

}  // namespace peakmark
