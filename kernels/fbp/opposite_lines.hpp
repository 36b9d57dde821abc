#pragma once

#include "kernels/fbp/joined_scan.hpp"
#include "kernels/filter/line_filter.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Joins opposite lines of half-acquisition on a device, and parts them.
class OppositeLines {
 public:
  /// Compiles; allocates nothing.
  OppositeLines(Device& device, const JoinedScan& scan);
  /// Allocates `mirrors` (mirrors_shape).
  void set_up();
  static Shape mirrors_shape(Size n_a) { return {n_a / 2, 3}; }

  /// Enqueues: pairs [first, first + pairs) of sinogram `z` of a stack (n_z, n_a, w), joined, into padded
  /// lines; `columns` as LineKernels::pad has them.
  void join(const DeviceArray& sinograms, Size z, const LineFilter::PaddedLines& padded, Size first,
            Size pairs);
  /// All pairs of sinogram `z` into the joined lines of sinogram `to_z` of a stack (n_z, n_a/2, side).
  void join(const DeviceArray& sinograms, Size z, DeviceArray& joined, Size to_z);
  /// The middles of padded lines, parted, over pairs [first, first + pairs).
  void part(const LineFilter::PaddedLines& padded, DeviceArray& sinograms, Size z, Size first, Size pairs);

 private:
  struct Target {
    DeviceArray& lines;
    Size offset, pitch, before, length;
    const DeviceArray& columns;
  };
  void enqueue_join(const DeviceArray& sinograms, Size z, const Target& to, Size first, Size pairs);

  Device& device_;
  JoinedScan scan_;
  Kernel join_, part_;
  DeviceArray mirrors_, no_columns_;
};

}  // namespace peakmark
