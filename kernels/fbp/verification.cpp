#include "kernels/fbp/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "kernels/backprojection/reference.hpp"
#include "kernels/fbp/joined_scan.hpp"
#include "kernels/fbp/noise_lines.hpp"
#include "kernels/filter/reference.hpp"

namespace peakmark {
namespace {

/// Interpolations that one verification makes at the most: a tenth of a second.
constexpr Size kInterpolations = Size{1} << 22;

/// Filtered lines of the stack. The different lines are filtered one by one, each when it is first asked for;
/// a joined line is the sum of what its two lines give to it. What that is follows the axis of a line: with
/// corrections it is another in each line.
class FilteredLines {
 public:
  FilteredLines(const FilterProblem& problem, const BackprojectionGeometry& geometry)
      : noise_(geometry.w), filter_(problem), n_a_(geometry.n_a), each_(!geometry.corrections.empty()) {
    if (geometry.half) joined_.emplace(geometry);
  }

  /// The geometry of what is filtered.
  [[nodiscard]] const BackprojectionGeometry* joined() const { return joined_ ? &joined_->joined : nullptr; }

  struct Line {
    const double* one;
    const double* other;  ///< null where nothing is joined
    [[nodiscard]] double at(Size i) const { return other == nullptr ? one[i] : one[i] + other[i]; }
  };
  Line line(Size z, Size a) {
    if (!joined_) return {filtered(z * n_a_ + a, a, Role::line).data(), nullptr};
    return {filtered(z * n_a_ + a, a, Role::line).data(),
            filtered(z * n_a_ + a + joined_->half, a, Role::opposite).data()};
  }

  [[nodiscard]] double tolerance() const { return filter_.tolerance(); }

  /// Root of the mean square of what was asked for, as if no two were joined.
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
  enum class Role : std::uint8_t { line, opposite };

  const std::vector<double>& filtered(Size stack_line, Size a, Role role) {
    const Size which = NoiseLines::at(stack_line);
    auto [place, is_new] = lines_.try_emplace({which, joined_ && each_ ? a : 0, role});
    if (is_new) {
      std::vector<float> values = noise_.different(which);
      if (joined_)
        values = role == Role::line ? joined_->part_of_line(a, values) : joined_->part_of_opposite(a, values);
      place->second = filter_.line(values);
    }
    return place->second;
  }

  NoiseLines noise_;
  FilterReference filter_;
  Size n_a_;
  bool each_;
  std::optional<JoinedScan> joined_;
  std::map<std::tuple<Size, Size, Role>, std::vector<double>> lines_;
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
                        const BackprojectionGeometry& measured) {
  FilteredLines lines(filter, measured);
  const BackprojectionGeometry& geometry = lines.joined() == nullptr ? measured : *lines.joined();
  const std::vector<LineView> views = line_views(geometry);
  const SliceFrame frame = slice_frame(geometry);
  const Shape& shape = slices.shape();
  std::vector<Compared> compared;
  double largest = 0;
  std::vector<float> pulled(static_cast<std::size_t>(shape[2]));
  for (const auto& [row, columns] : pixels_to_verify(shape, geometry.n_a)) {
    device.pull_part<float>(slices, row * shape[2], std::span(pulled));
    const Size z = row / shape[1];
    const Size y = frame.region.y0 + row % shape[1];
    std::vector<FilteredLines::Line> of_slice(views.size());
    for (std::size_t a = 0; a < views.size(); ++a) of_slice[a] = lines.line(z, static_cast<Size>(a));
    for (const Size column : columns) {
      const Size x = frame.region.x0 + column;
      double expected = 0;
      if (!geometry.clip || inside_circle(frame.side, y, x))
        expected = backprojected_pixel(views, 0, geometry.w, y, x, [&](Size a, Size i) {
          return of_slice[static_cast<std::size_t>(a)].at(i);
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
