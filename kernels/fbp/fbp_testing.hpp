#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/common/seeded.hpp"
#include "kernels/fbp/phantom.hpp"
#include "kernels/fbp/reconstructor.hpp"
#include "peakmark/worker/device.hpp"

// Reconstructs phantoms whose density is known in closed form, on any device.
namespace peakmark::fbp_testing {

/// A scan of 96 columns (only one padded length, since compiling each takes a second).
struct Scan {
  const char* name;
  const char* angles;
  Size n_a;
  double axis;
  bool half;
  double radius;  ///< columns from the axis that are seen at all angles
  bool corrected = false;
  double outwards = 0;  ///< correction of the axis at angle 0; the opposite angle has half of it
};
inline constexpr Size kColumns = 96;
inline const std::vector<Scan>& scans() {
  static const std::vector<Scan> all{
      {"half_turn", "half_turn", 150, 47.5, false, 46},
      {"full_turn", "full_turn", 300, 47.5, false, 46},
      {"axis_off_centre", "half_turn", 150, 38.25, false, 35, true},
      {"half_acquisition_right", "full_turn", 600, 83.75, true, 82},
      {"half_acquisition_left", "full_turn", 600, 9.5, true, 82, true},
      // A scan in which only the column of the axis is seen twice.
      {"half_acquisition_last_column", "full_turn", 600, 95, true, 93},
      {"half_acquisition_first_column", "full_turn", 600, 0, true, 93},
  };
  return all;
}

struct Slice {
  std::vector<float> values, truth;
  SliceFrame frame;
  [[nodiscard]] double at(Size y, Size x) const { return values[index(y, x)]; }
  [[nodiscard]] std::size_t index(Size y, Size x) const {
    return static_cast<std::size_t>(y * frame.side + x);
  }
};

/// Half-acquisition with the axis further out than the size of the slice assumes.
inline const std::vector<Scan>& outward_scans() {
  static const std::vector<Scan> all{
      {"half_acquisition_right_outwards", "full_turn", 600, 83.75, true, 82, false, 8},
      {"half_acquisition_left_outwards", "full_turn", 600, 9.5, true, 82, false, -8},
  };
  return all;
}

inline std::vector<double> corrections_of(const Scan& scan) {
  if (scan.outwards == 0)
    return corrections_of_pattern(scan.corrected ? "drift" : "none", scan.n_a, kColumns);
  std::vector<double> corrections;
  for (const double angle : angles_of_pattern(scan.angles, scan.n_a))
    corrections.push_back(scan.outwards * (0.75 + 0.25 * std::cos(angle)));
  return corrections;
}

/// The phantoms as a stack.
inline std::vector<Slice> reconstruct(Device& device, FbpMethod method, const Scan& scan,
                                      const std::vector<Phantom>& phantoms) {
  FbpOptions options;
  options.method = method;
  options.axis = scan.axis;
  options.half = scan.half;
  options.batch = 32;
  const auto n_z = static_cast<Size>(phantoms.size());
  Reconstructor reconstructor(device, {n_z, scan.n_a, kColumns}, options,
                              {angles_of_pattern(scan.angles, scan.n_a), corrections_of(scan)});
  reconstructor.set_up();
  std::vector<float> stack;
  for (const Phantom& phantom : phantoms) {
    const std::vector<float> sinogram = phantom_sinogram(phantom, reconstructor.geometry());
    stack.insert(stack.end(), sinogram.begin(), sinogram.end());
  }
  DeviceArray sinograms =
      create_with<float>(device, "sinograms", reconstructor.sinograms_shape(), std::span<const float>(stack));
  DeviceArray slices = create_uninitialised(device, "slices", reconstructor.slices_shape(), DType::f32);
  reconstructor(sinograms, slices);
  const std::vector<float> values = slices.read<float>();
  std::vector<Slice> result;
  const auto size = values.size() / phantoms.size();
  for (std::size_t z = 0; z < phantoms.size(); ++z)
    result.push_back({{values.begin() + static_cast<std::ptrdiff_t>(z * size),
                       values.begin() + static_cast<std::ptrdiff_t>((z + 1) * size)},
                      phantom_slice(phantoms[z], reconstructor.geometry()),
                      slice_frame(reconstructor.geometry())});
  return result;
}

/// Differences between a slice and the phantom: root mean square, and the largest. Includes only pixels
/// within `radius` of the axis around which the phantom is constant within `border` pixels.
struct ProfileError {
  double spread = 0, largest = 0;
};
inline ProfileError profile_error(const Slice& slice, double radius, Size border) {
  const Size side = slice.frame.side;
  const auto flat = [&](Size y, Size x) {
    for (Size dy = -border; dy <= border; ++dy)
      for (Size dx = -border; dx <= border; ++dx)
        if (slice.truth[slice.index(y + dy, x + dx)] != slice.truth[slice.index(y, x)]) return false;
    return true;
  };
  ProfileError error;
  double squares = 0;
  double pixels = 0;
  for (Size y = border; y < side - border; ++y)
    for (Size x = border; x < side - border; ++x) {
      const double from_axis =
          std::hypot(static_cast<double>(x) - slice.frame.axis, static_cast<double>(y) - slice.frame.axis);
      if (from_axis > radius || !flat(y, x)) continue;
      const double off = std::abs(slice.at(y, x) - slice.truth[slice.index(y, x)]);
      error.largest = std::max(error.largest, off);
      squares += off * off;
      ++pixels;
    }
  error.spread = std::sqrt(squares / pixels);
  return error;
}

/// Returns the distance from a point inside to where the profile falls to `level`, in steps of (dy, dx).
inline double edge_from(const Slice& slice, Size y, Size x, Size dy, Size dx, double level) {
  const auto inside = [&](Size step) {
    const Size row = y + step * dy;
    const Size column = x + step * dx;
    return row >= 0 && row < slice.frame.side && column >= 0 && column < slice.frame.side;
  };
  for (Size step = 0; inside(step + 1); ++step) {
    const double here = slice.at(y + step * dy, x + step * dx);
    const double next = slice.at(y + (step + 1) * dy, x + (step + 1) * dx);
    if (next < level) return static_cast<double>(step) + (here - level) / (here - next);
  }
  return std::numeric_limits<double>::quiet_NaN();
}

/// On PoCL, a disk was within 0.013 (spread) and 0.08 (largest, next to its edge), the head within 0.032 and
/// 0.14, and edges within 0.15 pixels. The largest differences come from the ringing of the ramp at edges.
inline void expect_phantoms_seen(Device& device, FbpMethod method, const Scan& scan) {
  SCOPED_TRACE(std::string(to_string(method)) + " " + scan.name);
  const double r = 0.6 * scan.radius;
  const double dx = 0.11 * scan.radius;
  const double dy = -0.07 * scan.radius;
  const std::vector<Slice> slices =
      reconstruct(device, method, scan, {{{1, r, r, dx, dy, 0}}, shepp_logan(scan.radius)});
  const Slice& disk = slices[0];
  const ProfileError of_disk = profile_error(disk, scan.radius, 3);
  EXPECT_LE(of_disk.spread, 0.016);
  EXPECT_LE(of_disk.largest, 0.1);
  const ProfileError of_head = profile_error(slices[1], scan.radius, 3);
  EXPECT_LE(of_head.spread, 0.04);
  EXPECT_LE(of_head.largest, 0.18);
  // The distance to the edge of the disk on the four sides, from the pixel nearest to its centre.
  const Size y = std::lround(disk.frame.axis + dy);
  const Size x = std::lround(disk.frame.axis + dx);
  const double off_y = static_cast<double>(y) - disk.frame.axis - dy;
  const double off_x = static_cast<double>(x) - disk.frame.axis - dx;
  const double half_row = std::sqrt(r * r - off_y * off_y);
  const double half_column = std::sqrt(r * r - off_x * off_x);
  constexpr double kPixels = 0.3;
  EXPECT_NEAR(edge_from(disk, y, x, 0, 1, 0.5), half_row - off_x, kPixels);
  EXPECT_NEAR(edge_from(disk, y, x, 0, -1, 0.5), half_row + off_x, kPixels);
  EXPECT_NEAR(edge_from(disk, y, x, 1, 0, 0.5), half_column - off_y, kPixels);
  EXPECT_NEAR(edge_from(disk, y, x, -1, 0, 0.5), half_column + off_y, kPixels);
}

/// A disk around the axis, as wide as the area that is seen at all angles. On PoCL the differences were
/// 0.0005 (spread) and 0.006 (largest).
inline void expect_widest_disk_seen(Device& device, FbpMethod method, const Scan& scan) {
  SCOPED_TRACE(std::string(to_string(method)) + " " + scan.name);
  const std::vector<Slice> slices =
      reconstruct(device, method, scan, {{{1, scan.radius, scan.radius, 0, 0, 0}}});
  const ProfileError error = profile_error(slices[0], scan.radius, 3);
  EXPECT_LE(error.spread, 0.001);
  EXPECT_LE(error.largest, 0.01);
}

/// Scan and padding of the stack in expect_chunks_are_slices.
struct ChunkedScan {
  PaddingMode mode = PaddingMode::constant;
  bool half = false;  ///< with a full turn, and the axis near the right edge
  bool corrected = false;
};
inline const std::vector<ChunkedScan>& chunked_scans() {
  static const std::vector<ChunkedScan> all{{},
                                            {PaddingMode::edge, false, true},
                                            {PaddingMode::constant, true, false},
                                            {PaddingMode::reflect, true, true}};
  return all;
}

/// Results are equal bit by bit, also for an odd number of lines: a slice does not depend on others on the
/// device.
inline void expect_chunks_are_slices(Device& device, FbpMethod method, Size n_a, const ChunkedScan& scan) {
  constexpr Size kSlices = 3;
  const auto reconstruct = [&](Size n_z, Size chunk, Size first) {
    FbpOptions options;
    options.method = method;
    options.chunk = chunk;
    options.mode = scan.mode;
    options.half = scan.half;
    if (scan.half) options.axis = 83.75;
    Reconstructor reconstructor(device, {n_z, n_a, kColumns}, options,
                                {angles_of_pattern(scan.half ? "full_turn" : "half_turn", n_a),
                                 corrections_of_pattern(scan.corrected ? "drift" : "none", n_a, kColumns)});
    reconstructor.set_up();
    const Size offset = first * n_a * kColumns;
    DeviceArray sinograms = create_with<float>(
        device, "sinograms", reconstructor.sinograms_shape(),
        Generator<float>([&](std::span<float> piece, Size at) { fill_seeded(piece, 7, offset + at); }));
    DeviceArray slices = create_uninitialised(device, "slices", reconstructor.slices_shape(), DType::f32);
    reconstructor(sinograms, slices);
    return slices.read<float>();
  };
  std::vector<float> one_by_one;
  for (Size z = 0; z < kSlices; ++z) {
    const std::vector<float> slice = reconstruct(1, 0, z);
    one_by_one.insert(one_by_one.end(), slice.begin(), slice.end());
  }
  for (const Size chunk : {0, 2, 7})
    EXPECT_EQ(reconstruct(kSlices, chunk, 0), one_by_one)
        << to_string(method) << " chunk " << chunk << " mode " << to_string(scan.mode) << " half "
        << scan.half;
}

}  // namespace peakmark::fbp_testing
