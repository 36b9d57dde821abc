#pragma once

#include <memory>
#include <vector>

#include "kernels/fft/fft.hpp"
#include "kernels/filter/line_kernels.hpp"
#include "kernels/filter/problem.hpp"
#include "kernels/padding/computation.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker/variant.hpp"

namespace peakmark {

/// Returns the memory of WholeFilter without its input and output, exactly. With S = 4·n_a·w bytes
/// of a sinogram: `padded` and `spectrum`, 2 S each, for every sinogram; for all of them once a padded
/// `template` of 2 S (`constant`) or, otherwise, `row_coordinates` and `column_coordinates` of 2 S each.
std::vector<Part> whole_filter_parts(const FilterProblem& problem);

/// Filters whole stacks of sinograms at once, as older reconstructions do: pads every line as
/// `padding/coords2d` does, and keeps every spectrum.
class WholeFilter {
 public:
  /// Compiles the kernels, allocates nothing. Throws Unsupported for a length that the FFT library cannot
  /// transform on this device.
  WholeFilter(Device& device, const FilterProblem& problem);

  /// Allocates the memory that whole_filter_parts lists.
  void set_up();

  /// Enqueues filtering; call set_up before. Both arrays have the problem's shape.
  void operator()(const DeviceArray& sinograms, DeviceArray& filtered);

 private:
  Device& device_;
  FilterProblem problem_;
  LineKernels kernels_;
  std::unique_ptr<PaddingComputation> padding_;
  DeviceArray filter_, padded_, spectrum_;
  std::unique_ptr<RealFft> fft_;
};

}  // namespace peakmark
