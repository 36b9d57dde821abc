#include "kernels/fbp/joined_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"

namespace peakmark {
namespace {

using std::numbers::pi;

void check_opposites(const BackprojectionGeometry& geometry, Size side) {
  const Size half = geometry.n_a / 2;
  for (Size a = 0; a < half; ++a) {
    const double one = geometry.angles[static_cast<std::size_t>(a)];
    const double other = geometry.angles[static_cast<std::size_t>(a + half)];
    const double off = std::abs(std::remainder(other - one - pi, 2 * pi));
    if (off * static_cast<double>(side) > 0.2)
      throw UsageError(
          fmt::format("fbp: half-acquisition joins opposite lines, and angle {} ({}) is not half a turn from "
                      "angle {} ({}); give a full turn in equal steps",
                      a + half, other, a, one));
  }
}

}  // namespace

void check_pairs(Size n_a) {
  if (n_a % 2 != 0)
    throw UsageError(fmt::format(
        "fbp: half-acquisition joins opposite lines; {} lines are odd: leave out the last of a full turn",
        n_a));
}

JoinedScan::JoinedScan(const BackprojectionGeometry& geometry) : half(geometry.n_a / 2), w(geometry.w) {
  if (!geometry.weighted()) throw UsageError("fbp: no half-acquisition, no lines to join");
  check_pairs(geometry.n_a);
  const SliceFrame frame = slice_frame(geometry);
  side = frame.side;
  added = std::lround(frame.axis - geometry.axis);
  split = (side + 1) / 2;
  right = overlap_slope(geometry) > 0;
  check_opposites(geometry, side);

  joined = geometry;
  joined.n_a = half;
  joined.w = side;
  joined.axis = frame.axis;
  joined.half = false;
  joined.angles.resize(static_cast<std::size_t>(half));
  if (!joined.corrections.empty()) joined.corrections.resize(static_cast<std::size_t>(half));

  parted = geometry;
  parted.weigh = false;
  parted.corrections.resize(static_cast<std::size_t>(geometry.n_a));
  const auto correction = [&](Size a) {
    return geometry.corrections.empty() ? 0 : geometry.corrections[static_cast<std::size_t>(a)];
  };
  for (Size a = 0; a < half; ++a) {
    const double axis = geometry.axis + correction(a);
    const double opposite_axis = geometry.axis + correction(a + half);
    const double sum = axis + opposite_axis - static_cast<double>(w - 1);
    // The line is not moved beyond the axis, since there may be no free column on the other side. It is not
    // moved inwards either, since neither line has seen the columns that would be added.
    const auto moved = static_cast<Size>(right ? std::floor(std::max(0.0, correction(a)))
                                               : std::ceil(std::min(0.0, correction(a))));
    mirrors.push_back({axis, opposite_axis, std::floor(sum), sum - std::floor(sum), moved});
    if (moved != 0) joined.corrections[static_cast<std::size_t>(a)] -= static_cast<double>(moved);
    // With the axis further out, neither line has seen some columns next to it.
    const double last = static_cast<double>(w) - 0.5;
    if (const double middle = (axis + opposite_axis) / 2; !(middle >= -0.5 && middle <= last))
      throw UsageError(fmt::format(
          "fbp: half-acquisition cannot join lines {} and {}: corrections of {} and {} columns move their "
          "axis "
          "to column {}, outside the sinogram, which reaches from -0.5 to {}. Neither line has measured the "
          "columns in between. Give smaller corrections, or remove both angles",
          a, a + half, correction(a), correction(a + half), middle, last));
    const double shift = static_cast<double>(added - moved) + correction(a);
    parted.corrections[static_cast<std::size_t>(a)] = shift;
    parted.corrections[static_cast<std::size_t>(a + half)] = shift - static_cast<double>(split);
    parted.angles[static_cast<std::size_t>(a + half)] = parted.angles[static_cast<std::size_t>(a)];
  }
}

double JoinedScan::weight_of_line(Size a, Size i) const {
  if (i < 0 || i >= w) return 0;
  const Mirror& mirror = mirrors[static_cast<std::size_t>(a)];
  const double last = static_cast<double>(w - 1);
  const double middle = (mirror.whole + mirror.fraction + last) / 2;
  // Below half a column only the axis's own column is on the ramp, as in overlap_slope.
  const double near = std::max(right ? last - middle : middle, 0.5);
  return overlap_weight((right ? 1 : -1) / (2 * near), static_cast<double>(i) - middle);
}

std::vector<float> JoinedScan::part_of_line(Size a, std::span<const float> line) const {
  std::vector<float> part(static_cast<std::size_t>(side));
  for (Size j = 0; j < side; ++j)
    if (const Size i = column_of(a, j); i >= 0 && i < w)
      part[static_cast<std::size_t>(j)] =
          static_cast<float>(weight_of_line(a, i) * static_cast<double>(line[static_cast<std::size_t>(i)]));
  return part;
}

std::vector<float> JoinedScan::part_of_opposite(Size a, std::span<const float> opposite) const {
  std::vector<float> part(static_cast<std::size_t>(side));
  const Mirror& mirror = mirrors[static_cast<std::size_t>(a)];
  const auto column = [&](Size i) {
    return static_cast<double>(opposite[static_cast<std::size_t>(std::clamp<Size>(i, 0, w - 1))]);
  };
  for (Size j = 0; j < side; ++j) {
    const Size i = column_of(a, j);
    const Size whole = std::lround(mirror.whole) + (w - 1) - i;
    const double mirrored = (1 - mirror.fraction) * column(whole) + mirror.fraction * column(whole + 1);
    part[static_cast<std::size_t>(j)] = static_cast<float>((1 - weight_of_line(a, i)) * mirrored);
  }
  return part;
}

}  // namespace peakmark
