#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "estimate/estimator.hpp"

namespace peakmark {

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
