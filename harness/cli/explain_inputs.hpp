#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyse/explain/derive/memory_curve.hpp"
#include "analyse/explain/derive/run_formulas.hpp"
#include "measure/supervise/record_shapes.hpp"
#include "measure/supervise/sweep_run.hpp"

namespace peakmark::cli {

/// The inputs of `explain`: run files; profiles and their axes; or suites and variants, whose shapes are
/// recorded first.
struct ExplainInputs {
  struct Profile {
    std::filesystem::path path;
    AxisTexts axes;
  };
  std::vector<std::filesystem::path> runs;
  std::vector<Profile> profiles;
  std::vector<std::filesystem::path> suites;
  std::vector<std::string> variants;  ///< to record, or to explain from a run file
  AxisTexts values;                   ///< values of axes that cases must have; they apply to all profiles
};

/// Sorts the words of the command line. AXIS=VALUE after a profile belongs to this profile. Throws UsageError
/// if there is nothing to explain, or kinds are mixed.
ExplainInputs split_inputs(const std::vector<std::string>& texts);

/// Returns the cases to explain: of the first run file, of the profiles, or of shapes that are chosen and
/// recorded with `sweep`. With `curve`, shapes on the plotted curves are recorded, too.
Run read_or_record(const ExplainInputs& inputs, SweepOptions sweep, const ShapeEffort& effort,
                   const CurveOptions* curve);
/// Returns the cases of a run file that belong to the variants, have the values of the axes and match the
/// regular expression. Throws UsageError if there is none.
Run read_cases(const std::filesystem::path& run_file, const ExplainInputs& inputs,
               const std::optional<std::string>& filter);

}  // namespace peakmark::cli
