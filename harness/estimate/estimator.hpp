#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.hpp"
#include "base/size.hpp"
#include "sweep/parameters.hpp"

namespace peakmark {

/// httomo's question: how many slices along `slice_dimension` fit `available_bytes`?
struct EstimateRequest {
  int slice_dimension = 0;                 ///< 0 projection, 1 sinogram
  std::array<Size, 2> other_dimensions{};  ///< the other two of the *input* (n, y, x), in order
  DType dtype = DType::f32;                ///< of the input
  Size available_bytes = 0;
  Parameters parameters;  ///< the method's own parameters; the slice axis's value is for terms() only
};

/// httomo's answer.
struct EstimateAnswer {
  Size slices = 0;
  DType dtype = DType::f32;  ///< of the output
};

/// One named part of what a variant needs.
struct Term {
  std::string name;  ///< as the allocation is called in the ledger
  Size per_slice_bytes = 0;
  Size fixed_bytes = 0;
};

/// An estimator under test. A written formula: it never runs the variant and never asks `dry`.
class Estimator {
 public:
  Estimator() = default;
  Estimator(const Estimator&) = delete;
  Estimator& operator=(const Estimator&) = delete;
  virtual ~Estimator() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// `direct`, `module`, `iterative`, `documented`
  [[nodiscard]] virtual std::string_view form() const = 0;
  /// The signature that httomo documents. UsageError for a slice dimension the variant does not cut along.
  [[nodiscard]] virtual EstimateAnswer max_slices(const EstimateRequest& request) const = 0;
  /// Bytes for `slices` slices of the same request; `available_bytes` is not read.
  [[nodiscard]] virtual Size bytes(const EstimateRequest& request, Size slices) const = 0;
  /// The parts, where the form has parts; where they are others for few slices than for many, those of as
  /// many as the slice axis says.
  [[nodiscard]] virtual std::vector<Term> terms(const EstimateRequest&) const { return {}; }
};

// The four forms in which estimators are written, each behind the one interface. The formulas receive the
// request (its available_bytes means nothing to them) and answer in bytes; a formula that answers a negative
// number, or 0 bytes a slice, is a UsageError that names the estimator: with it every number of slices would
// fit.

/// What every form needs to know beside its formula.
struct EstimatorTraits {
  std::string name;
  int slice_dimension = 0;  ///< the one httomo dimension that the variant cuts along; another is a UsageError
  /// dtype of the output for an input of this dtype; null: the same.
  std::function<DType(DType)> output_dtype;
};

/// *direct*: bytes a slice = multiplier × product of the other dimensions × item size of the input dtype.
std::shared_ptr<const Estimator> make_direct_estimator(EstimatorTraits traits, double multiplier);

/// *module*: the named parts, each so much a slice and so much fixed; slices = (available − fixed) // per
/// slice.
using TermsFormula = std::function<std::vector<Term>(const EstimateRequest& request)>;
std::shared_ptr<const Estimator> make_module_estimator(EstimatorTraits traits, TermsFormula terms);

/// *iterative*: bytes for n slices, which must not fall as n grows; slices = the largest n whose bytes fit,
/// found exactly by doubling and bisection (httomo's own search stops anywhere in the last 10 %).
using BytesFormula = std::function<Size(const EstimateRequest& request, Size slices)>;
std::shared_ptr<const Estimator> make_iterative_estimator(EstimatorTraits traits, BytesFormula bytes,
                                                          TermsFormula terms = {});

/// *documented*: httomo's calc_max_slices itself. bytes(n) is the least memory for which it answers n or
/// more.
using SlicesFormula = std::function<EstimateAnswer(const EstimateRequest& request)>;
std::shared_ptr<const Estimator> make_documented_estimator(std::string name, int slice_dimension,
                                                           SlicesFormula slices);

}  // namespace peakmark
