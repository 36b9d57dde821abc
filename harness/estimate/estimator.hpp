#pragma once

#include <array>
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

}  // namespace peakmark
