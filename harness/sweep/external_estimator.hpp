#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sweep/description.hpp"
#include "sweep/formula.hpp"
#include "sweep/source_location.hpp"

namespace peakmark {

/// An estimator that is no part of a worker: a Python function, or a command (docs/estimators.md).
struct ExternalEstimator {
  SourceLocation place;
  std::string name;                 ///< as suites name it and runs tell of it
  std::string call;                 ///< `python:package.module:function`, `command:PROGRAM ARGUMENTS`
  std::string form = "documented";  ///< `documented`, `direct`, `module`, `iterative`
  /// The input's dimensions other than the slice dimension, formulas of axes; none: the first two axes that
  /// are integers and not the slice axis.
  std::vector<Formula> other_dimensions;
  std::string dtype;  ///< of the input, as numpy calls it; empty: the axis `dtype`, or float32
  /// Axes that the function takes by their names; none named: every axis that is none of the above.
  std::optional<std::vector<std::string>> parameters;
  std::string output_dimensions;  ///< a Python function beside it, `package.module:function`; may be empty
  std::string padding;            ///< likewise
  std::string python;             ///< the environment, as a program's
  std::string python_made_by;     ///< the command that makes it, where a program of this Python says it
  double seconds = 60;            ///< that an answer may take
  std::filesystem::path suite_folder;
};

/// Throw UsageError for what cannot be called, and for an unknown form, with the nearest.
void check_estimator_call(std::string_view call);
void check_estimator_form(std::string_view form);
/// UsageError for what numpy would not take for a dtype: ours (`f32`), its names and its codes (`<f4`).
void check_estimator_dtype(const std::string& dtype);
/// UsageError for what is not `package.module:function`.
void check_function_beside(const std::string& function);

/// The words of what stands behind `command:`. Blanks separate them, except in quotes (' or ") and after a
/// backslash. Throws UsageError where a quote has no end.
std::vector<std::string> estimator_command_words(std::string_view command);

/// `python:` or `command:` in front: a call, not a name.
bool is_estimator_call(std::string_view text);

/// What an estimator is asked about one case.
struct EstimatorQuestion {
  int slice_dimension = 0;
  Size slices = 0;  ///< that the case has
  std::vector<Size> other_dimensions;
  std::string dtype;  ///< numpy's name
  Parameters parameters;
};

/// Throws UsageError when the estimator asks for an axis that the variant has not, or the variant cuts along
/// none.
void check_estimator_fits(const ExternalEstimator& estimator, const VariantDescription& variant);

/// Throws UsageError, and OverflowError where a dimension does not fit 64 bits.
EstimatorQuestion make_question(const ExternalEstimator& estimator, const VariantDescription& variant,
                                const Parameters& parameters);

}  // namespace peakmark
