#pragma once

#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Returns a launch on a GPU over columns and over lines: an item processes lines y, y + range.y, …, eight
/// lines if this leaves enough items.
Range range_of_lines(Size columns, Size lines);

/// The kernels of both methods to filter, in the grain of the device. Sizes are in elements; all calls
/// enqueue.
class LineKernels {
 public:
  /// Compiles the kernels.
  explicit LineKernels(Device& device);

  /// Copies lines `first` to `first` + `lines` of a sinogram of width `w` into `lines` padded lines of
  /// `length` elements, `pitch` apart, from element `offset` of `padded` on. `columns` (int32, `length`) has
  /// the column of the line for each padded column; if it has no elements, the line is padded with zeros.
  void pad(const DeviceArray& sinogram, Size first, Size lines, Size w, const DeviceArray& columns,
           Size before, Size length, DeviceArray& padded, Size offset, Size pitch);
  /// Copies the middle of these lines into lines `first` … of a sinogram.
  void crop(const DeviceArray& padded, Size offset, Size pitch, Size before, DeviceArray& sinogram,
            Size first, Size lines, Size w);
  /// Multiplies spectra of `frequencies` complex elements, which are (frequencies)·2 floats apart from the
  /// even `offset` on, with the filter.
  void filter(DeviceArray& spectra, Size offset, Size lines, Size frequencies, const DeviceArray& filter,
              bool imaginary);

 private:
  Device& device_;
  Kernel pad_, crop_, filter_;
};

/// `filter`: device_filter() on the device.
DeviceArray push_filter(Device& device, const FilterProblem& problem);

/// Returns `columns` (int32): for each column of a padded line, the column of the line that it copies. Not
/// used for `constant`, which pads with zeros.
DeviceArray push_columns(Device& device, const FilterProblem& problem);

/// Returns the padding of a stack of sinograms: each line is in the middle of a wider one; `constant` pads
/// with zeros.
PaddingProblem padding_of(const FilterProblem& problem);

}  // namespace peakmark
