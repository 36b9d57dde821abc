#pragma once

#include "kernels/filter/problem.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Returns a launch on a GPU over columns, and over the lines that start at once: an item takes lines y, y +
/// range.y, ..., eight where enough items are left.
Range range_of_lines(Size columns, Size lines);

/// The kernels of both ways to filter, in the grain of the device. Sizes in elements; all calls enqueue.
class LineKernels {
 public:
  /// Compiles.
  explicit LineKernels(Device& device);

  /// Lines `first` to `first` + `lines` of a sinogram of width `w` into `lines` padded lines of `length`
  /// elements, `pitch` apart, from element `offset` of `padded` on. `columns` (int32, `length`) names for
  /// each padded column that of the line; if it has no elements, the line is padded with zeros.
  void pad(const DeviceArray& sinogram, Size first, Size lines, Size w, const DeviceArray& columns,
           Size before, Size length, DeviceArray& padded, Size offset, Size pitch);
  /// The middle of those lines into lines `first` … of a sinogram.
  void crop(const DeviceArray& padded, Size offset, Size pitch, Size before, DeviceArray& sinogram,
            Size first, Size lines, Size w);
  /// Spectra of `frequencies` complex elements, (frequencies)·2 floats apart from the even `offset` on, times
  /// the filter.
  void filter(DeviceArray& spectra, Size offset, Size lines, Size frequencies, const DeviceArray& filter,
              bool imaginary);

 private:
  Device& device_;
  Kernel pad_, crop_, filter_;
};

/// `filter`: device_filter() on the device.
DeviceArray push_filter(Device& device, const FilterProblem& problem);

/// `columns` (int32): for each column of a padded line the column of the line that it shows. Not for
/// `constant`, beside whose lines there are zeros.
DeviceArray push_columns(Device& device, const FilterProblem& problem);

/// The stack of sinograms as an operation pads it: each line in the middle of a wider one, zeros for
/// `constant`.
PaddingProblem padding_of(const FilterProblem& problem);

}  // namespace peakmark
