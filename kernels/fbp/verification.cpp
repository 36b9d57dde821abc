#include "kernels/fbp/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/backprojection/reference.hpp"
#include "kernels/fbp/noise_lines.hpp"
#include "kernels/filter/reference.hpp"

namespace peakmark {
namespace {

/// Interpolations that one verification makes at the most: some tenths of a second.
constexpr Size kInterpolations = Size{1} << 24;

/// Filtered lines of the stack, each made when it is first asked for. Weights follow the axis of a line, so
/// with corrections no two weighted lines are the same.
class FilteredLines {
 public:
  FilteredLines(const FilterProblem& problem, const BackprojectionGeometry& geometry,
                const std::vector<LineView>& views)
      : noise_(problem.w),
        filter_(problem),
        views_(views),
        n_a_(problem.n_a),
        slope_(overlap_slope(geometry)),
        each_weighted_(geometry.weighted() && !geometry.corrections.empty()) {}

  const std::vector<double>& line(Size z, Size a) {
    const Size which = NoiseLines::at(z * n_a_ + a);
    auto [place, is_new] = lines_.try_emplace({which, each_weighted_ ? a : 0});
    if (is_new) {
      std::vector<float> values = noise_.different(which);
      const double axis = views_[static_cast<std::size_t>(a)].axis;
      for (std::size_t x = 0; slope_ != 0 && x < values.size(); ++x)
        values[x] *= static_cast<float>(overlap_weight(slope_, static_cast<double>(x) - axis));
      place->second = filter_.line(values);
    }
    return place->second;
  }

  [[nodiscard]] double tolerance() const { return filter_.tolerance(); }

  /// Root of the mean square of what was asked for.
  [[nodiscard]] double spread() const {
    double squares = 0;
    double count = 0;
    for (const auto& [key, values] : lines_)
      for (const double value : values) {
        squares += value * value;
        ++count;
      }
    return count == 0 ? 0 : std::sqrt(squares / count);
  }

 private:
  NoiseLines noise_;
  FilterReference filter_;
  const std::vector<LineView>& views_;
  Size n_a_;
  double slope_;
  bool each_weighted_;
  std::map<std::pair<Size, Size>, std::vector<double>> lines_;
};

/// Pixels of the stack (n_z, h, w) to look at: row → columns.
std::map<Size, std::vector<Size>> pixels_to_verify(const Shape& shape, Size n_a) {
  std::map<Size, std::vector<Size>> pixels;
  const Size rows = shape[0] * shape[1];
  const Size width = shape[2];
  const Size most = std::max<Size>(64, kInterpolations / n_a);
  if (shape.elements() <= most) {
    std::vector<Size> all(static_cast<std::size_t>(width));
    for (Size x = 0; x < width; ++x) all[static_cast<std::size_t>(x)] = x;
    for (Size row = 0; row < rows; ++row) pixels[row] = all;
    return pixels;
  }
  for (const Size row : {Size{0}, shape[1] - 1, rows - 1}) pixels[row] = {0, width - 1};
  constexpr std::uint32_t kSeed = 52;
  const auto drawn = [&](Size i, Size extent) { return static_cast<Size>(seeded_bits(kSeed, i)) % extent; };
  // Several columns of few rows, since each row is pulled.
  const Size columns = std::min<Size>(width, 64);
  for (Size i = 0; i < most / columns; ++i) {
    std::vector<Size>& row = pixels[drawn(i * (columns + 1), rows)];
    for (Size k = 1; k <= columns; ++k) row.push_back(drawn(i * (columns + 1) + k, width));
  }
  return pixels;
}

struct Compared {
  Size row, column;
  double expected;
  float actual;
};

}  // namespace

Verification verify_fbp(Device& device, const Array& slices, const FilterProblem& filter,
                        const BackprojectionGeometry& geometry) {
  const std::vector<LineView> views = line_views(geometry);
  const SliceFrame frame = slice_frame(geometry);
  const Shape& shape = slices.shape();
  FilteredLines lines(filter, geometry, views);
  std::vector<Compared> compared;
  double largest = 0;
  std::vector<float> pulled(static_cast<std::size_t>(shape[2]));
  for (const auto& [row, columns] : pixels_to_verify(shape, geometry.n_a)) {
    device.pull_part<float>(slices, row * shape[2], std::span(pulled));
    const Size z = row / shape[1];
    const Size y = frame.region.y0 + row % shape[1];
    std::vector<const double*> of_slice(views.size());
    for (std::size_t a = 0; a < views.size(); ++a) of_slice[a] = lines.line(z, static_cast<Size>(a)).data();
    for (const Size column : columns) {
      const Size x = frame.region.x0 + column;
      double expected = 0;
      if (!geometry.clip || inside_circle(frame.side, y, x))
        expected = backprojected_pixel(views, 0, geometry.w, y, x, [&](Size a, Size i) {
          return of_slice[static_cast<std::size_t>(a)][i];
        });
      largest = std::max(largest, std::abs(expected));
      compared.push_back({row, column, expected, pulled[static_cast<std::size_t>(column)]});
    }
  }
  const auto n_a = static_cast<double>(geometry.n_a);
  const double noise = std::sqrt(n_a) * lines.spread();
  constexpr Size kStretch = 68;  // places that back-projection counts in, at the least
  const double rounding = 0x1p-24 * static_cast<double>(std::max({frame.side, geometry.n_a, kStretch})) *
                          std::max(largest, noise);
  const double allowed = std::min(n_a, 8 * std::sqrt(n_a)) * lines.tolerance() + rounding;
  const auto is_wrong = [&](const Compared& c) {
    return !(std::abs(static_cast<double>(c.actual) - c.expected) <= allowed);  // true of a NaN
  };
  const auto first = std::ranges::find_if(compared, is_wrong);
  if (first == compared.end()) return {true, {}};
  return {false,
          fmt::format("{} of {} pixels compared are wrong; the first, slices[{}, {}, {}], is {} instead of "
                      "{} (tolerance {})",
                      std::ranges::count_if(compared, is_wrong), compared.size(), first->row / shape[1],
                      first->row % shape[1], first->column, first->actual, first->expected, allowed)};
}

}  // namespace peakmark
