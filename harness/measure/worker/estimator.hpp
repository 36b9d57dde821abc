#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/size.hpp"
#include "measure/runfile/observation.hpp"
#include "measure/sweep/parameters.hpp"
#include "peakmark/worker_abi.h"

namespace peakmark {

/// An estimator of a variant, `peakmark_estimator` of the C ABI: a formula. It never runs the variant. Its
/// functions throw what the program reports (abi.hpp), and UsageError for an answer that cannot be one: a
/// negative number, or 0 bytes per slice, so that any number of slices would fit.
class RegisteredEstimator {
 public:
  /// The structs must outlive this object. Throws UsageError if the estimator has no formula.
  RegisteredEstimator(const peakmark_estimator& abi, const peakmark_variant& variant);

  [[nodiscard]] std::string_view name() const { return abi_->name; }
  /// Returns the form, which follows from the functions of the estimator:
  /// - `iterative`: bytes of n slices, not decreasing with n. The largest n that fits is found exactly, by
  ///   doubling and bisection (httomo's own search stops within 10 % of it).
  /// - `module`: named parts with bytes per slice and fixed bytes.
  /// - `documented`: slices for the available bytes, httomo's calc_max_slices.
  [[nodiscard]] std::string_view form() const;
  /// Returns how many slices fit into `available_bytes`.
  [[nodiscard]] Size max_slices(const Parameters& parameters, Size available_bytes) const;
  /// Returns the bytes for `slices` slices. For `documented`: the smallest memory for which at least `slices`
  /// slices are answered.
  [[nodiscard]] Size bytes(const Parameters& parameters, Size slices) const;
  /// Returns the parts, empty if there are none. If they depend on the number of slices, they are those for
  /// the value of the slice axis.
  [[nodiscard]] std::vector<EstimateTerm> terms(const Parameters& parameters) const;

 private:
  [[nodiscard]] EstimateTerm total(const Parameters& parameters) const;

  const peakmark_estimator* abi_;
  std::string slice_axis_;
};

}  // namespace peakmark
