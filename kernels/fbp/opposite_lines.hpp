#pragma once

#include "kernels/fbp/joined_scan.hpp"
#include "kernels/filter/line_filter.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Joins opposite lines of half-acquisition on a device, and splits them again.
class OppositeLines {
 public:
  /// Compiles the kernels; allocates nothing.
  OppositeLines(Device& device, const JoinedScan& scan);
  /// Allocates `mirrors` (mirrors_shape).
  void set_up();
  static Shape mirrors_shape(Size n_a) { return {n_a / 2, 3}; }

  /// Enqueue. Joins pairs [first, first + pairs) of sinogram `z` of a stack (n_z, n_a, w) into padded lines;
  /// `columns` as for LineKernels::pad.
  void join(const DeviceArray& sinograms, Size z, const LineFilter::PaddedLines& padded, Size first,
            Size pairs);
  /// Joins all pairs of sinogram `z` into the joined lines of sinogram `to_z` of a stack (n_z, n_a/2, side).
  void join(const DeviceArray& sinograms, Size z, DeviceArray& joined, Size to_z);
  /// Splits the middles of padded lines, and overwrites pairs [first, first + pairs) with them.
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
