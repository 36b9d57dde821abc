#pragma once

#include <string>
#include <vector>

#include "base/shape.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/filter/response.hpp"
#include "kernels/padding/problem.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {

/// The widest line: as wide as slices and sinograms of back-projection may be.
inline constexpr Size kMaxFilterColumns = Size{1} << 24;

/// Lines of a stack of sinograms (n_z, n_a, w), f32, to be filtered.
struct FilterProblem {
  Size n_z = 1, n_a = 1, w = 2;
  FilterName filter = FilterName::ramlak;
  PaddingMode mode = PaddingMode::constant;  ///< what pads a line; `constant`: zeros
  FftLibrary fft = FftLibrary::vkfft;

  [[nodiscard]] Shape shape() const { return {n_z, n_a, w}; }
  [[nodiscard]] Size lines() const { return checked_multiply(n_z, n_a); }
  /// The next 7-smooth multiple of 4 from 2·w on.
  [[nodiscard]] Size padded_width() const;
  /// A line in the middle of its padded line.
  [[nodiscard]] PaddedAxis padded_line() const;
  /// What every element is multiplied by: π/n_a.
  [[nodiscard]] double scale() const;
};

/// The modes of padding but `custom`, `constant` first.
std::vector<std::string> filter_padding_names();

/// Throws UsageError that names the axis: w below 2 or beyond kMaxFilterColumns, an unknown filter, library
/// or mode, sizes beyond 64 bits. Unsupported for lines longer than VkFFT's tables are known for: an estimate
/// cannot be made either.
FilterProblem filter_problem(const Case& asked);
void check(const FilterProblem& problem);

/// The filter for the transform of padded lines, as the kernels take it: length/2 + 1 values, with the scale
/// and the 1/length that the transform leaves out.
std::vector<float> device_filter(const FilterProblem& problem);

}  // namespace peakmark
