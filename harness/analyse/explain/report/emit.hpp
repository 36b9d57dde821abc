#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyse/explain/derive/run_formulas.hpp"
#include "base/dtype.hpp"

namespace peakmark {

/// Forms in which formulas are written.
enum class EmitForm : std::uint8_t { python, cpp, toml };

/// Throws UsageError that lists the forms.
EmitForm parse_emit_form(const std::string& name);

struct EmitOptions {
  EmitForm form = EmitForm::python;
  int margin_percent = 0;  ///< added to the bytes
  std::string
      slice_axis;  ///< the axis along which calc_max_slices counts; empty: `n` if there is such an axis
  /// The other two dimensions of the input; empty: the first two integer axes besides the slices.
  std::vector<std::string> other_dimensions;
  DType dtype = DType::f32;  ///< of the input of variants without an axis `dtype`
  std::string source;        ///< the run file, for the text about the origin of the formulas
};

/// Writes an estimator from formulas that explain every byte. Throws UsageError, with the variant, if a peak
/// has no formula, or the formula misses a recorded peak: a wrong estimator is never written.
std::string emit(const std::vector<VariantFormulas>& variants, const RunContext& context,
                 const EmitOptions& options);

}  // namespace peakmark
