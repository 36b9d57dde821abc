#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/size.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/sweep/parameters.hpp"

namespace peakmark {

/// httomo's question: how many slices along `slice_dimension` fit into `available_bytes`?
struct EstimateRequest {
  int slice_dimension = 0;                 ///< 0 projection, 1 sinogram
  std::array<Size, 2> other_dimensions{};  ///< the other two dimensions of the *input* (n, y, x), in order
  DType dtype = DType::f32;                ///< of the input
  Size available_bytes = 0;
  Parameters parameters;  ///< of the method; only terms() reads the value of the slice axis
};

/// The answer to httomo.
struct SlicesAnswer {
  Size slices = 0;
  DType dtype = DType::f32;  ///< of the output
};

/// An estimator under test: a formula. It never runs the variant, not even on `dry`.
class FormulaEstimator {
 public:
  FormulaEstimator() = default;
  FormulaEstimator(const FormulaEstimator&) = delete;
  FormulaEstimator& operator=(const FormulaEstimator&) = delete;
  virtual ~FormulaEstimator() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// `direct`, `module`, `iterative`, `documented`
  [[nodiscard]] virtual std::string_view form() const = 0;
  /// Returns the answer to httomo's documented question. Throws UsageError for an unsupported slice
  /// dimension.
  [[nodiscard]] virtual SlicesAnswer max_slices(const EstimateRequest& request) const = 0;
  /// Returns the bytes for `slices` slices. Ignores `available_bytes`.
  [[nodiscard]] virtual Size bytes(const EstimateRequest& request, Size slices) const = 0;
  /// Returns the parts, empty if the form has none. If they depend on the number of slices, they are those
  /// for the value of the slice axis.
  [[nodiscard]] virtual std::vector<EstimateTerm> terms(const EstimateRequest&) const { return {}; }
};

// The four forms of estimators. Their formulas ignore `available_bytes` and return bytes. A negative number,
// or 0 bytes per slice (any number of slices would fit), is a UsageError with the estimator's name.

/// The properties of an estimator besides its formula.
struct EstimatorTraits {
  std::string name;
  int slice_dimension = 0;  ///< the dimension, in httomo's numbering, that the variant supports
  /// Returns the output dtype for an input dtype; null: both are the same.
  std::function<DType(DType)> output_dtype;
};

/// *direct*: bytes per slice = multiplier × product of the other dimensions × item size of the input dtype.
std::shared_ptr<const FormulaEstimator> make_direct_estimator(EstimatorTraits traits, double multiplier);

/// *module*: named parts with bytes per slice and fixed bytes; slices = (available − fixed) // per slice.
using TermsFormula = std::function<std::vector<EstimateTerm>(const EstimateRequest& request)>;
std::shared_ptr<const FormulaEstimator> make_module_estimator(EstimatorTraits traits, TermsFormula terms);

/// *iterative*: bytes for n slices, not decreasing with n; slices = the largest n that fits, found exactly by
/// doubling and bisection (httomo's own search stops within 10 % of it).
using BytesFormula = std::function<Size(const EstimateRequest& request, Size slices)>;
std::shared_ptr<const FormulaEstimator> make_iterative_estimator(EstimatorTraits traits, BytesFormula bytes,
                                                                 TermsFormula terms = {});

/// *documented*: httomo's calc_max_slices itself. bytes(n) is the smallest memory for which it answers at
/// least n.
using SlicesFormula = std::function<SlicesAnswer(const EstimateRequest& request)>;
std::shared_ptr<const FormulaEstimator> make_documented_estimator(std::string name, int slice_dimension,
                                                                  SlicesFormula slices);

}  // namespace peakmark
