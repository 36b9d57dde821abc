#pragma once

#include <string>
#include <vector>

#include "base/shape.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/filter/response.hpp"
#include "kernels/padding/problem.hpp"
#include "peakmark/worker/case.hpp"

namespace peakmark {

/// The widest line: the maximal width of slices and sinograms of back-projection.
inline constexpr Size kMaxFilterColumns = Size{1} << 24;

/// Lines of a stack of sinograms (n_z, n_a, w), f32, to be filtered.
struct FilterProblem {
  Size n_z = 1, n_a = 1, w = 2;
  FilterName filter = FilterName::ramlak;
  PaddingMode mode = PaddingMode::constant;  ///< how a line is padded; `constant`: with zeros
  FftLibrary fft = FftLibrary::vkfft;

  [[nodiscard]] Shape shape() const { return {n_z, n_a, w}; }
  [[nodiscard]] Size lines() const { return checked_multiply(n_z, n_a); }
  /// Returns the smallest 7-smooth multiple of 4 that is at least 2·w.
  [[nodiscard]] Size padded_width() const;
  /// Returns the position of a line in its padded line: the middle.
  [[nodiscard]] PaddedAxis padded_line() const;
  /// Returns the factor of every element: π/n_a.
  [[nodiscard]] double scale() const;
};

/// Returns all modes of padding except `custom`; `constant` is first.
std::vector<std::string> filter_padding_names();

/// Throws UsageError that names the axis: w below 2 or beyond kMaxFilterColumns, an unknown filter, library
/// or mode, sizes beyond 64 bits. Throws Unsupported for lines longer than those for which VkFFT's tables are
/// known, since there is no estimate either.
FilterProblem filter_problem(const Case& asked);
void check(const FilterProblem& problem);

/// Returns the filter for the transform of padded lines, as the kernels need it: length/2 + 1 values,
/// including the scale and the factor 1/length that the transform omits.
std::vector<float> device_filter(const FilterProblem& problem);

}  // namespace peakmark
