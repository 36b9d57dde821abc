#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "device/device.hpp"
#include "estimate/estimator.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/filter/line_kernels.hpp"
#include "kernels/filter/problem.hpp"

namespace peakmark {

/// How many lines at a time, and what that takes beside the sinogram.
struct LineBatch {
  Size lines = 1;
  std::vector<Term> terms;  ///< exact, all fixed: `filter`, `columns`, `fft_tables`, `fft_work`, `work`
};

/// `lines` of them. UsageError where a sinogram has not as many.
LineBatch batch_of(const FilterProblem& problem, Size lines);
/// What may lie beside the floor, and what of it is taken.
struct LineAllowance {
  Size percent = 5;
  Size floor_bytes = 0;  ///< of which they are percent
  Size table_bytes = 0;  ///< taken by tables of the angles
  [[nodiscard]] Size bytes() const { return checked_multiply(floor_bytes, percent) / 100; }
};
/// As many lines as have room in the allowance with all that is needed beside them, evenly shared out over
/// the lines of one sinogram. UsageError where not even one has.
LineBatch batch_within(const FilterProblem& problem, const LineAllowance& allowance);
/// What the axes `batch` (0: by the allowance) and `allowance` (percent of `floor_bytes`) say.
LineBatch batch_of_case(const FilterProblem& problem, const Parameters& parameters, Size floor_bytes);

/// Filters the lines of sinograms in batches through one work buffer, in which padded lines are transformed
/// in place. Whatever is beside the sinogram is known before: LineBatch::terms.
class LineFilter {
 public:
  /// Compiles; allocates nothing. Throws Unsupported for a length that the FFT library cannot do here.
  LineFilter(Device& device, const FilterProblem& problem, const LineBatch& batch);

  /// Allocates filter, columns, plan and work buffer.
  void set_up();

  /// Enqueues, after set_up, the filtering of lines [first, first + lines) of `from` into the same lines of
  /// `to`, which may be the same array. Both hold lines of width w, as many as they like.
  void operator()(const Array& from, Array& to, Size first, Size lines);

  /// The padded lines of a batch, from the work buffer's line 0 on.
  struct PaddedLines {
    Array& work;
    Size pitch, before, length;
    const Array& columns;  ///< filter_arrays.hpp; empty: zeros stand beside a line
  };
  /// Enqueues the move of lines [first, first + lines) into padded lines, or out of their middles.
  using Move = std::function<void(const PaddedLines& padded, Size first, Size lines)>;
  /// The same for lines that lie otherwise: by batches, `load`, filter, `store`.
  void operator()(Size first, Size lines, const Move& load, const Move& store);

 private:
  Device& device_;
  FilterProblem problem_;
  Size batch_lines_;
  PaddedAxis line_;
  LineKernels kernels_;
  Array filter_, columns_, work_;
  std::unique_ptr<RealFft> fft_;
};

}  // namespace peakmark
