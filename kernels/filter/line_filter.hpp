#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/fft/fft.hpp"
#include "kernels/filter/line_kernels.hpp"
#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker/variant.hpp"

namespace peakmark {

/// The number of lines that are filtered at a time, and the memory for it without the sinogram.
struct LineBatch {
  Size lines = 1;
  std::vector<Part> parts;  ///< exact, and all fixed: `filter`, `columns`, `fft_tables`, `fft_work`, `work`
  bool lent = false;        ///< the work buffer is in an array of the caller, so `parts` has no `work`
};

/// Returns a batch of `lines`. Throws UsageError if a sinogram has fewer.
LineBatch batch_of(const FilterProblem& problem, Size lines);
/// The memory allowed in addition to the floor, and how much of it is used.
struct LineAllowance {
  Size percent = 5;
  Size floor_bytes = 0;  ///< the base of the percentage
  Size table_bytes = 0;  ///< used by tables of the angles
  Size min_bytes = 0;    ///< allowed for tables and two lines if the percentage gives less
  Size lent_bytes = 0;   ///< size of an array that the caller needs only later and lends as a work buffer
  [[nodiscard]] Size percent_bytes() const { return checked_multiply(floor_bytes, percent) / 100; }
  [[nodiscard]] Size bytes() const { return std::max(min_bytes, percent_bytes()); }
};
/// Returns as many lines as fit the allowance with the other memory that they need, so that batches of a
/// sinogram have equal sizes. The batch is in the lent bytes if they hold kLentWorkBytes of lines, or at
/// least as many as a work buffer within the allowance; else in such a buffer. Throws UsageError if not even
/// one line fits.
LineBatch batch_within(const FilterProblem& problem, const LineAllowance& allowance);
/// Returns the batch by the axes `batch` (0: by the allowance) and `allowance` (percent of `floor_bytes`).
LineBatch batch_of_case(const FilterProblem& problem, const Case& asked, Size floor_bytes);

/// More lines than this in lent memory are not faster: these lines still fit the last-level cache of a GPU,
/// and launches are long enough.
inline constexpr Size kLentWorkBytes = Size{16} << 20;

/// Filters the lines of sinograms in batches with one work buffer, in which padded lines are transformed in
/// place. LineBatch::parts has all memory except the sinogram.
class LineFilter {
 public:
  /// Compiles the kernels, allocates nothing. Throws Unsupported for a length that the FFT library cannot
  /// transform on this device.
  LineFilter(Device& device, const FilterProblem& problem, const LineBatch& batch);

  /// Allocates filter, columns, plan and, unless it is lent, the work buffer. `lent_line`: where the work
  /// begins in the lent array, in padded lines of padded_width + 2 elements.
  void set_up(Size lent_line = 0);

  /// Enqueues filtering lines [first, first + lines) of `from` into the same lines of `to`, which may be the
  /// same array; call set_up before. Both have any number of lines of width w. `lent` is overwritten; it is
  /// null if LineBatch::lent is false.
  void operator()(const DeviceArray& from, DeviceArray& to, Size first, Size lines,
                  DeviceArray* lent = nullptr);

  /// The padded lines of a batch, from element `offset` of the work buffer on.
  struct PaddedLines {
    DeviceArray& work;
    Size offset, pitch, before, length;
    const DeviceArray& columns;  ///< push_columns(); no elements: a line is padded with zeros
  };
  /// Enqueues copying lines [first, first + lines) into padded lines, or from their middles.
  using Move = std::function<void(const PaddedLines& padded, Size first, Size lines)>;
  /// The same for lines in another layout: for each batch it calls `load`, filters, and calls `store`.
  void operator()(Size first, Size lines, const Move& load, const Move& store, DeviceArray* lent = nullptr);

 private:
  Device& device_;
  FilterProblem problem_;
  Size batch_lines_;
  bool lent_;
  Size lent_line_ = 0;
  PaddedAxis line_;
  LineKernels kernels_;
  DeviceArray filter_, columns_, work_;
  std::unique_ptr<RealFft> fft_;
};

}  // namespace peakmark
