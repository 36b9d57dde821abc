#include "kernels/backprojection/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr Size kMaxPixels = Size{1} << 24;  // per side
constexpr Size kMaxLines = Size{1} << 24;

[[noreturn]] void wrong(const std::string& message) {
  throw UsageError("backprojection: " + message);
}

void check_list(const std::vector<double>& values, Size n_a, const char* one, const char* many) {
  if (static_cast<Size>(values.size()) != n_a)
    wrong(
        fmt::format("{} {} for a sinogram of {} lines; give one {} per line", values.size(), many, n_a, one));
  for (std::size_t a = 0; a < values.size(); ++a)
    if (!std::isfinite(values[a])) wrong(fmt::format("{} {} is {}; give finite numbers", one, a, values[a]));
}

bool axis_right_of_middle(const BackprojectionGeometry& geometry) {
  return geometry.axis >= static_cast<double>(geometry.w - 1) / 2;
}

/// Returns the columns between the axis and the nearer edge column; negative if the axis is on the outer half
/// of that column.
double near_columns(const BackprojectionGeometry& geometry) {
  return axis_right_of_middle(geometry) ? static_cast<double>(geometry.w - 1) - geometry.axis : geometry.axis;
}

}  // namespace

SliceFrame slice_frame(const BackprojectionGeometry& geometry) {
  SliceFrame frame;
  frame.side = geometry.w;
  frame.axis = geometry.axis;
  if (geometry.half) {
    const Size overlap = std::max<Size>(0, static_cast<Size>(std::floor(2 * near_columns(geometry))));
    frame.side = 2 * geometry.w - overlap;
    if (!axis_right_of_middle(geometry)) frame.axis += static_cast<double>(geometry.w - overlap);
  }
  frame.region = geometry.region.value_or(SliceRegion{0, 0, frame.side, frame.side});
  return frame;
}

void check_frame(const BackprojectionGeometry& geometry) {
  const auto& [n_a, w] = std::pair(geometry.n_a, geometry.w);
  if (n_a < 1) wrong(fmt::format("a sinogram of {} lines; it needs one or more", n_a));
  // Lists and tables of the angles must also fit into host memory.
  if (n_a > kMaxLines) wrong(fmt::format("a sinogram of {} lines (n_a); the maximum is {}", n_a, kMaxLines));
  if (w < 2)
    wrong(
        fmt::format("a sinogram {} columns wide; values are interpolated between columns, so "
                    "it needs two or more",
                    w));
  if (w > kMaxPixels) wrong(fmt::format("a sinogram {} columns wide; the maximum is {}", w, kMaxPixels));
  const double last = static_cast<double>(w) - 0.5;
  if (!(geometry.axis >= -0.5 && geometry.axis <= last))
    wrong(
        fmt::format("the rotation axis at column {} lies outside the sinogram, which reaches from -0.5 to {}",
                    geometry.axis, last));
  const SliceFrame frame = slice_frame(geometry);
  if (frame.side > kMaxPixels)
    wrong(fmt::format("a slice {} pixels wide; the maximum is {}", frame.side, kMaxPixels));
  const auto fits = [&](Size first, Size count) {
    return first >= 0 && count >= 1 && count <= frame.side && first <= frame.side - count;
  };
  const SliceRegion& r = frame.region;
  if (!fits(r.y0, r.h) || !fits(r.x0, r.w))
    wrong(
        fmt::format("the region of {} x {} pixels from row {}, column {} on does not lie inside the slice of "
                    "{} x {}",
                    r.h, r.w, r.y0, r.x0, frame.side, frame.side));
}

void check(const BackprojectionGeometry& geometry) {
  check_frame(geometry);
  check_list(geometry.angles, geometry.n_a, "angle", "angles");
  if (geometry.corrections.empty()) return;
  check_list(geometry.corrections, geometry.n_a, "correction of the axis", "corrections of the axis");
  // Lines that are already weighted may be parts of wider ones.
  const Size most = geometry.half && !geometry.weigh ? 2 * geometry.w : geometry.w;
  for (std::size_t a = 0; a < geometry.corrections.size(); ++a)
    if (std::abs(geometry.corrections[a]) > static_cast<double>(most))
      wrong(fmt::format("correction of the axis {} is {} columns; the maximum is {} for a sinogram of {}", a,
                        geometry.corrections[a], most, geometry.w));
}

std::vector<LineView> line_views(const BackprojectionGeometry& geometry) {
  const double s = slice_frame(geometry).axis;
  std::vector<LineView> views(static_cast<std::size_t>(geometry.n_a));
  for (std::size_t a = 0; a < views.size(); ++a) {
    LineView& view = views[a];
    view.cosine = std::cos(geometry.angles[a]);
    view.sine = std::sin(geometry.angles[a]);
    view.axis = geometry.axis + (geometry.corrections.empty() ? 0 : geometry.corrections[a]);
    view.start = view.axis - s * view.cosine + s * view.sine;
  }
  return views;
}

double overlap_slope(const BackprojectionGeometry& geometry) {
  if (!geometry.weighted()) return 0;
  // Below half a column, only the column of the axis would be on the ramp. It gets weight 1/2.
  const double near = std::max(near_columns(geometry), 0.5);
  return (axis_right_of_middle(geometry) ? 1 : -1) / (2 * near);
}

double overlap_weight(double slope, double u) {
  return slope == 0 ? 1 : std::clamp(0.5 - slope * u, 0.0, 1.0);
}

Size computed_pixels(const BackprojectionGeometry& geometry) {
  const SliceFrame frame = slice_frame(geometry);
  const SliceRegion& r = frame.region;
  if (!geometry.clip) return r.h * r.w;
  Size pixels = 0;
  for (Size y = r.y0; y < r.y0 + r.h; ++y) {
    // The chord of this row: |2x − side + 1| ≤ root.
    const Size dy = 2 * y - frame.side + 1;
    const Size square = frame.side * frame.side - dy * dy;
    Size root = static_cast<Size>(std::sqrt(static_cast<double>(square)));
    while (root * root > square) --root;
    while ((root + 1) * (root + 1) <= square) ++root;
    if ((root - (frame.side - 1)) % 2 != 0) --root;  // to have the parity of 2x − side + 1
    const Size first = (frame.side - 1 - root) / 2;
    const Size last = (frame.side - 1 + root) / 2;
    pixels += std::max<Size>(0, std::min(last, r.x0 + r.w - 1) - std::max(first, r.x0) + 1);
  }
  return pixels;
}

std::vector<std::int64_t> angle_table(const BackprojectionGeometry& geometry) {
  const auto fixed = [](double value) {
    return static_cast<std::int64_t>(std::llrint(std::ldexp(value, kFractionBits)));
  };
  std::vector<std::int64_t> table;
  table.reserve(static_cast<std::size_t>(angle_table_shape(geometry.n_a).elements()));
  for (const LineView& view : line_views(geometry))
    for (const double value : {view.cosine, view.sine, view.start, view.axis}) table.push_back(fixed(value));
  return table;
}

}  // namespace peakmark
