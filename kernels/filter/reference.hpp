#pragma once

#include <array>
#include <span>
#include <vector>

#include "kernels/fft/host_fft.hpp"
#include "kernels/filter/problem.hpp"

namespace peakmark {

/// Filters lines in double precision on the host: pads with padding's reference, transforms with host_fft.
class FilterReference {
 public:
  explicit FilterReference(const FilterProblem& problem);

  /// Returns a filtered line of width w.
  [[nodiscard]] std::vector<double> line(std::span<const float> values) const;
  /// Filters two lines in the time of one.
  [[nodiscard]] std::array<std::vector<double>, 2> two_lines(std::span<const float> one,
                                                             std::span<const float> other) const;

  /// Returns the allowed error of a line computed in f32: 16 roundings of the largest value that a pass of a
  /// transform of values up to 1 can have, times the filter's largest factor.
  [[nodiscard]] double tolerance() const;

 private:
  FilterProblem problem_;
  std::vector<double> response_;  ///< without the scale
  std::vector<Size> columns_;     ///< −1: a zero
  HostFft transform_;
};

}  // namespace peakmark
