#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "measure/compare/run_comparison.hpp"
#include "measure/statistics/rank_statistics.hpp"

namespace peakmark {

/// A case of a variant relative to the case of the same shape of the base. A ratio below 1 is less than the
/// base; null if a side is unknown, or the base is 0.
struct CaseRatio {
  std::string case_name;
  std::string base_name;
  std::optional<double> peak;          ///< peak / peak of the base
  std::optional<double> time;          ///< median time / that of the base
  std::optional<Interval> time_range;  ///< 95 %; null with fewer than 4 blocks per side
};

/// All shapes of a variant that the base has, too.
struct VariantRatios {
  std::string variant;
  std::vector<CaseRatio> cases;
  std::optional<double> peak;  ///< geometric mean over the cases that have a ratio
  std::optional<double> time;
  std::vector<std::string> only_base;  ///< cases of the base whose shape the variant lacks
  std::vector<std::string> only_this;  ///< cases of the variant whose shape the base lacks
};

/// The variants of a run relative to one of them.
struct Speedups {
  ComparedSide base;
  bool is_interleaved = false;
  std::vector<VariantRatios> variants;  ///< with a shape in common, in the order of the run
  std::vector<std::string> others;      ///< names of variants without one
  std::vector<std::string> notes;
};

/// Returns the geometric mean; null without values. All must be above 0.
std::optional<double> geometric_mean(const std::vector<double>& values);

/// Throws UsageError if the run lacks the variant, or has no other.
Speedups speedups(const RunToCompare& run, const std::string& base_name);

/// Returns `nothing` if no case has a ratio.
ExitCode exit_code_of(const Speedups& speedups);

/// Returns the text for the console: a row for each case, then one for each variant.
std::string speedup_table(const Speedups& speedups);
nlohmann::ordered_json speedup_json(const Speedups& speedups);

}  // namespace peakmark
