#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/sweep/description.hpp"
#include "measure/sweep/formula.hpp"
#include "measure/sweep/source_location.hpp"

namespace peakmark {

/// The default maximum time for an answer of an estimator, in seconds.
inline constexpr double kEstimatorSeconds = 60;

/// A condition on cases: `mode = ["edge", "wrap"]`.
struct CaseCondition {
  std::string key;  ///< `variant`, `backend` or an axis
  SourceLocation place;
  std::vector<Located<AxisValue>> values;  ///< one of them must match
};

/// The bytes of some cases as a formula of their axes. `itemsize` is the size in bytes of an element of the
/// axis `dtype`.
struct EstimatorFormula {
  SourceLocation place;
  std::vector<CaseCondition> when;  ///< on axes and `variant`; all must hold
  Formula bytes;
};

/// An estimator outside the worker: formulas, a Python function or a command (docs/estimators.md).
struct ExternalEstimator {
  SourceLocation place;
  std::string name;  ///< as in suites and run files
  std::string call;  ///< `python:package.module:function`, `command:PROGRAM ARGUMENTS`; empty: formulas
  std::vector<EstimatorFormula> formulas;  ///< instead of a call; the first whose conditions hold is used
  std::string form = "documented";         ///< one of suite_words("estimator_form"); for formulas `formula`
  /// Dimensions of the input besides the slice dimension, as formulas of axes. Empty: the first two integer
  /// axes that are not the slice axis.
  std::vector<Formula> other_dimensions;
  std::string dtype;  ///< numpy's name for the input's dtype; empty: the axis `dtype`, or float32
  /// Axes that the function takes by name. Null: every axis except those above.
  std::optional<std::vector<std::string>> parameters;
  std::string output_dimensions;  ///< a Python function `package.module:function`; may be empty
  std::string padding;            ///< likewise
  std::string python;             ///< the Python environment, as for a program
  std::string python_made_by;     ///< the command that creates it, from a program with the same environment
  double seconds = kEstimatorSeconds;  ///< maximum time for an answer
  std::filesystem::path suite_folder;
};

/// Throw UsageError for a malformed call, and for an unknown form, with the nearest one.
void check_estimator_call(std::string_view call);
void check_estimator_form(std::string_view form);
/// Throws UsageError unless it is one of our dtypes (`f32`), or a name or code (`<f4`) of numpy.
void check_estimator_dtype(const std::string& dtype);
/// Throws UsageError unless it is `package.module:function`.
void check_function_beside(const std::string& function);

/// Splits the text after `command:` into words at blanks, except in quotes (' or ") and after a backslash.
/// Throws UsageError for unbalanced quotes.
std::vector<std::string> estimator_command_words(std::string_view command);

/// Returns true for a call, which begins with `python:` or `command:`; else it is a name.
bool is_estimator_call(std::string_view text);

/// The arguments of an estimator for one case.
struct EstimatorQuestion {
  int slice_dimension = 0;
  Size slices = 0;  ///< number of slices of the case
  std::vector<Size> other_dimensions;
  std::string dtype;  ///< numpy's name
  Parameters parameters;
  std::string variant;     ///< of the case, for formulas; also the next members
  Parameters axes;         ///< all axes
  std::string slice_axis;  ///< its name in `axes`
};

/// The axis that formulas of estimators have in addition to the integer axes of a variant.
inline constexpr const char* kItemSizeAxis = "itemsize";

/// Returns the bytes of a case with `slices` slices by the formulas of an estimator. Throws UsageError if no
/// formula applies to the case, OverflowError if the bytes do not fit 64 bits.
Size formula_bytes(const ExternalEstimator& estimator, const EstimatorQuestion& question, Size slices);

/// Throws UsageError if the estimator needs an axis that the variant lacks, or the variant has no slice axis.
void check_estimator_fits(const ExternalEstimator& estimator, const VariantDescription& variant);

/// Returns the arguments for a case. Throws UsageError, and OverflowError if a dimension does not fit 64
/// bits.
EstimatorQuestion make_question(const ExternalEstimator& estimator, const VariantDescription& variant,
                                const Parameters& parameters);

}  // namespace peakmark
