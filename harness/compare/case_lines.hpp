#pragma once

#include <map>
#include <string>
#include <vector>

#include "compare/run_comparison.hpp"

// What the console and markdown say of a case, in the same words.
namespace peakmark {

/// In which part of a report a case stands; the worst first.
enum class ComparisonStatus { regressed, suspicious, improved, changed, undecided, same, skipped };
ComparisonStatus standing_of(const CaseComparison& one);
const char* title_of(ComparisonStatus standing);

/// Cases by standing, in the order of the comparison.
std::map<ComparisonStatus, std::vector<const CaseComparison*>> by_standing(const RunComparison& comparison);

/// `1.2 MiB -> 1.5 MiB (+25.00 %)`; `–` where it is unknown.
std::string peak_text(const CaseComparison& one);
/// `1.2 ms -> 1.5 ms`; `–` without times.
std::string time_text(const CaseComparison& one);
/// GB/s: `98.7 -> 80.1`; `–` where neither side has any.
std::string rate_text(const CaseComparison& one);
/// `+4.1 % (+3.2 … +5.0)`; `–` where there is none.
std::string effect_text(const CaseComparison& one);
/// Every verdict that is not `same`: `peak grew, slower`.
std::string verdict_text(const CaseComparison& one);
/// What a reader needs beside the figures: outcomes, allocations that moved, advice. Not the figures again.
std::vector<std::string> remarks_on(const CaseComparison& one);

}  // namespace peakmark
