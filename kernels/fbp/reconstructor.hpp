#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "kernels/fbp/opposite_lines.hpp"
#include "kernels/fbp/problem.hpp"
#include "kernels/filter/whole_filter.hpp"
#include "peakmark/worker/device.hpp"
#include "peakmark/worker/variant.hpp"

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

/// Returns all memory on the device at the peak, exactly. Each term has the name of its allocation. With S =
/// 4·n_a·w bytes of a sinogram and P = 4·n_a·(padded width):
/// - all: `sinograms`, `slices`; tables of the angles (angle_parts); `filter`, `fft_tables`, and `fft_work`
///   if lines need several passes
/// - half-acquisition: `mirrors`; whole has n_a/2 joined lines of the slice's width instead of n_a lines of
///   width w
/// - whole: `filtered` S, `padded` P, `spectrum` a little more, and `template` P (mode constant) or
///   `row_coordinates` and `column_coordinates`, P each, once
/// - inplace: `work`, and `columns` except in mode constant
/// - kept: as inplace, and `filtered` S
/// If `chunk` is below n_z, memory for each slice processed at a time is fixed. Else all n_z slices are
/// processed at once, and this memory is per slice. Throws UsageError like check() and line_batch().
std::vector<Part> fbp_parts(const FbpShape& shape, const FbpOptions& options);

/// Returns the device bytes for the shape's n_z slices, with all sinograms and slices resident.
Size estimate_required_memory(const FbpShape& shape, const FbpOptions& options);

/// Returns the largest number of slices that can be resident in `available_bytes`: 0 if not even one fits, at
/// most n_z. A longer stack is processed in parts of this size. It is the largest number for which
/// estimate_required_memory is within `available_bytes`; if it is below `chunk`, all of them are processed
/// together.
Size estimate_max_chunk_size(Size available_bytes, const FbpShape& shape, const FbpOptions& options);

/// Returns the estimate of nabu's authors, from nabu's issue on the memory of filtered back-projection:
/// 4·(5·n_a·w + w²) bytes per slice, for sinogram, padded sinogram, its transform, and slice. It ignores
/// method, mode and region, and is wrong for each of the methods here.
std::vector<Part> nabu_parts(Size n_a, Size w);

}  // namespace peakmark
