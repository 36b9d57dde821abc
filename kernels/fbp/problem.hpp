#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/backprojection/backprojector.hpp"
#include "kernels/backprojection/geometry.hpp"
#include "kernels/filter/line_filter.hpp"
#include "kernels/filter/problem.hpp"

namespace peakmark {

/// whole (old): all padded lines, all spectra and the tables for padding exist at once; then `linear`.
/// inplace (new): filters lines in batches in one work buffer and writes them back, which overwrites the
///   sinograms; then `tiled`.
/// kept: as inplace, on a copy of the sinograms, `chunk` of them at a time.
enum class FbpMethod : std::uint8_t { whole, inplace, kept };
std::string_view to_string(FbpMethod method);
/// Returns true if a call overwrites the sinograms.
constexpr bool destroys_input(FbpMethod method) {
  return method == FbpMethod::inplace;
}
/// Returns the back-projection of a method.
constexpr BackprojectionMethod backprojection_of(FbpMethod method) {
  return method == FbpMethod::whole ? BackprojectionMethod::linear : BackprojectionMethod::tiled;
}

/// A stack of sinograms, f32.
struct FbpShape {
  Size n_z = 1;  ///< sinograms and slices
  Size n_a = 1;  ///< lines of a sinogram, one per angle
  Size w = 2;    ///< columns of a line
};

/// How a stack is reconstructed: all options on which the memory depends.
struct FbpOptions {
  FbpMethod method = FbpMethod::inplace;
  FilterName filter = FilterName::ramlak;
  PaddingMode mode = PaddingMode::constant;  ///< what pads a line
  FftLibrary fft = FftLibrary::vkfft;
  std::optional<double> axis = {};         ///< column of the rotation axis; none: the middle
  bool half = false;                       ///< half-acquisition: a full turn, the axis near one edge
  bool clip = false;                       ///< 0 outside the circle inscribed in the slice
  std::optional<SliceRegion> region = {};  ///< of the slice; none: all of it
  bool corrected = false;                  ///< the axis is corrected at each angle
  Size chunk = 0;                          ///< max slices processed at a time; 0: all
  Size batch = 0;  ///< (joined) lines filtered at a time; 0: as many as fit the allowance
  /// Allowance for all other memory of `inplace`, and of `kept` without its copy, in percent of the bytes of
  /// a sinogram and a slice (min kMinAllowance).
  Size allowance = 1;
};

/// Tables of the FFT and of the angles may exceed one percent of a small sinogram and slice.
inline constexpr Size kMinAllowance = Size{512} << 10;

/// The angles of a stack.
struct FbpAngles {
  std::vector<double> angles;            ///< radians, one per line
  std::vector<double> corrections = {};  ///< displacement of the axis at each angle, in columns; empty: none
};

/// Returns the stack that is filtered: for half-acquisition n_a/2 joined lines (JoinedScan), as wide as the
/// slice. The scale is π / (number of filtered lines): π/n_a, or 2π/n_a for half-acquisition, where a full
/// turn sees each ray once.
FilterProblem filter_problem(const FbpShape& shape, const FbpOptions& options);

/// Returns the geometry without angles and corrections.
BackprojectionGeometry frame_geometry(const FbpShape& shape, const FbpOptions& options);

/// Returns the geometry with angles and corrections, checked.
BackprojectionGeometry scan_geometry(const FbpShape& shape, const FbpOptions& options, FbpAngles angles);

/// Throws UsageError for invalid sizes, axis, region or chunk, and for an odd number of lines in
/// half-acquisition. Does not check the angles.
void check(const FbpShape& shape, const FbpOptions& options);

/// Returns the bytes of one sinogram and one slice, which every method needs.
Size floor_bytes(const FbpShape& shape, const FbpOptions& options);

/// Returns the number of slices that are processed at a time: a chunk, but at most all slices.
inline Size chunk_slices(const FbpShape& shape, const FbpOptions& options) {
  return options.chunk == 0 ? shape.n_z : std::min(options.chunk, shape.n_z);
}

/// Returns the number of lines that `inplace` and `kept` filter at a time, and their memory. The work buffer
/// is in the memory of the last slice, which is not needed before the lines are filtered. It is a separate
/// allocation with `batch`, or if the region of a slice is too small. Throws UsageError if not even one line
/// and the tables of the angles fit the allowance.
LineBatch line_batch(const FbpShape& shape, const FbpOptions& options);
/// Returns the beginning of a lent work buffer in the slices, in padded lines of the filter.
Size lent_line(const FbpShape& shape, const FbpOptions& options);

/// Returns the device memory of the angles: the tables of the back-projection and, for half-acquisition,
/// `mirrors`, 12 bytes per pair of lines.
std::vector<Part> angle_parts(const FbpShape& shape, const FbpOptions& options);

}  // namespace peakmark
