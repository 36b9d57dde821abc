#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/fbp/opposite_lines.hpp"
#include "kernels/fbp/problem.hpp"
#include "kernels/filter/whole_filter.hpp"
#include "peakmark/worker/device.hpp"

namespace peakmark {

/// Filtered back-projection of a stack on a device: sinograms (n_z, n_a, w), f32 → slices (n_z, h, w').
/// fbp_parts returns its other memory in advance; a call allocates nothing.
///
/// **destroys_input(method)**: `inplace` overwrites the sinograms with filtered lines. Opposite lines of
/// half-acquisition are weighted and joined before they are filtered (JoinedScan).
class Reconstructor {
 public:
  /// Compiles the kernels, allocates nothing. Throws UsageError for invalid shapes, options or angles (see
  /// check(), geometry and filter); Unsupported for a length that the FFT library cannot transform on this
  /// device.
  Reconstructor(Device& device, const FbpShape& shape, FbpOptions options, FbpAngles angles);

  /// Allocates all memory except sinograms and slices.
  void set_up();

  /// Enqueues the reconstruction; call set_up before. Writes every pixel of the slices; before that, it may
  /// filter lines in the memory of the last slice. Throws UsageError for arrays of other shapes.
  void operator()(DeviceArray& sinograms, DeviceArray& slices);

  [[nodiscard]] Shape sinograms_shape() const { return {shape_.n_z, shape_.n_a, shape_.w}; }
  [[nodiscard]] Shape slices_shape() const;
  /// Returns the geometry of the sinograms, with angles and corrections.
  [[nodiscard]] const BackprojectionGeometry& geometry() const { return geometry_; }

 private:
  void filter_in_place(DeviceArray& sinograms, Size first, Size count, DeviceArray& slices);
  void fill_filtered(const DeviceArray& sinograms, Size first, Size count, DeviceArray& slices);

  Device& device_;
  FbpShape shape_;
  FbpOptions options_;
  BackprojectionGeometry geometry_;
  Size chunk_;
  std::optional<WholeFilter> whole_;
  std::optional<LineFilter> lines_;
  DeviceArray filtered_;
  std::optional<JoinedScan> joined_;
  std::optional<OppositeLines> opposite_;
  std::unique_ptr<Backprojector> backprojector_;
};

}  // namespace peakmark
