#include "kernels/fbp/verification.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "kernels/backprojection/reference.hpp"
#include "kernels/backprojection/verify_pixels.hpp"
#include "kernels/fbp/joined_scan.hpp"
#include "kernels/filter/reference.hpp"

namespace peakmark {
namespace {

/// Max interpolations of a verification, which then takes a tenth of a second.
constexpr Size kInterpolations = Size{1} << 22;
constexpr std::uint32_t kSeedPixels = 52;

/// Filtered lines of the stack. Each of the different lines is filtered when it is first requested. A joined
/// line is the sum of the contributions of its two lines. Without corrections, a line's contribution is the
/// same in every pair, so the contribution of each of the different lines is filtered and kept. With
/// corrections it differs between pairs, and the joined line itself is filtered.
class FilteredLines {
 public:
  FilteredLines(const FilterProblem& problem, const BackprojectionGeometry& geometry)
      : noise_(geometry.w), filter_(problem), n_a_(geometry.n_a), each_(!geometry.corrections.empty()) {
    if (geometry.half) joined_.emplace(geometry);
  }

  /// The geometry of the filtered lines.
  [[nodiscard]] const BackprojectionGeometry* joined() const { return joined_ ? &joined_->joined : nullptr; }

  struct Line {
    const double* one;
    const double* other;  ///< null if no lines are joined, or if `line` is already joined
    [[nodiscard]] double at(Size i) const { return other == nullptr ? one[i] : one[i] + other[i]; }
  };
  Line line(Size z, Size a) {
    const Size stack_line = z * n_a_ + a;
    if (!joined_) return {filtered(NoiseLines::at(stack_line), Role::line).data(), nullptr};
    if (each_) return {filtered_pair(z, a).data(), nullptr};
    return {filtered(NoiseLines::at(stack_line), Role::line).data(),
            filtered(NoiseLines::at(stack_line + joined_->half), Role::opposite).data()};
  }

  [[nodiscard]] double tolerance() const { return filter_.tolerance(); }

  /// Returns the root mean square of the requested lines, as if no two were joined.
  [[nodiscard]] double spread() const {
    double squares = 0;
    double count = 0;
    const auto add = [&](const auto& lines, double lines_in_one) {
      for (const auto& [key, values] : lines) {
        for (const double value : values) squares += value * value;
        count += lines_in_one * static_cast<double>(values.size());
      }
    };
    add(lines_, 1);
    add(pairs_, 2);
    return count == 0 ? 0 : std::sqrt(squares / count);
  }

 private:
  enum class Role : std::uint8_t { line, opposite };
  /// Line a, with its expected value and that of its opposite.
  using Pair = std::tuple<Size, Size, Size>;

  const std::vector<double>& filtered(Size which, Role role) {
    auto [place, is_new] = lines_.try_emplace({which, role});
    if (is_new) {
      std::vector<float> values = noise_.different(which);
      if (joined_)
        values = role == Role::line ? joined_->part_of_line(0, values) : joined_->part_of_opposite(0, values);
      place->second = filter_.line(values);
    }
    return place->second;
  }

  [[nodiscard]] Pair pair_of(Size z, Size a) const {
    const Size stack_line = z * n_a_ + a;
    return {a, NoiseLines::at(stack_line), NoiseLines::at(stack_line + joined_->half)};
  }

  [[nodiscard]] std::vector<float> joined_line(const Pair& pair) const {
    const auto& [a, which, which_opposite] = pair;
    std::vector<float> values = joined_->part_of_line(a, noise_.different(which));
    const std::vector<float> other = joined_->part_of_opposite(a, noise_.different(which_opposite));
    std::ranges::transform(values, other, values.begin(), std::plus());
    return values;
  }

  /// Two lines are filtered in the time of one, so the line of the next angle is filtered too: a slice needs
  /// all of them.
  const std::vector<double>& filtered_pair(Size z, Size a) {
    const auto [place, is_new] = pairs_.try_emplace(pair_of(z, a));
    if (is_new) {
      const Pair next = pair_of(z, a + 1 < joined_->half ? a + 1 : a);
      std::array<std::vector<double>, 2> both =
          filter_.two_lines(joined_line(place->first), joined_line(next));
      place->second = std::move(both[0]);
      pairs_.try_emplace(next, std::move(both[1]));
    }
    return place->second;
  }

  NoiseLines noise_;
  FilterReference filter_;
  Size n_a_;
  bool each_;
  std::optional<JoinedScan> joined_;
  std::map<std::pair<Size, Role>, std::vector<double>> lines_;
  std::map<Pair, std::vector<double>> pairs_;
};

}  // namespace

std::vector<float> NoiseLines::different(Size which) const {
  std::vector<float> line(static_cast<std::size_t>(w_));
  fill_seeded(std::span(line), kPattern.seed, which * w_);
  return line;
}

std::string verify_fbp(const DeviceArray& slices, const FilterProblem& filter,
                       const BackprojectionGeometry& measured) {
  FilteredLines lines(filter, measured);
  const BackprojectionGeometry& geometry = lines.joined() == nullptr ? measured : *lines.joined();
  const std::vector<LineView> views = line_views(geometry);
  const SliceFrame frame = slice_frame(geometry);
  const Shape stack = shape(slices);
  PixelComparison<float> comparison(stack);
  std::vector<float> read(static_cast<std::size_t>(stack[2]));
  for (const auto& [row, columns] : pixels_to_verify(stack, geometry.n_a, kInterpolations, kSeedPixels)) {
    slices.read_part<float>(row * stack[2], std::span(read));
    const Size z = row / stack[1];
    const Size y = frame.region.y0 + row % stack[1];
    std::vector<FilteredLines::Line> of_slice(views.size());
    for (std::size_t a = 0; a < views.size(); ++a) of_slice[a] = lines.line(z, static_cast<Size>(a));
    for (const Size column : columns) {
      const Size x = frame.region.x0 + column;
      double expected = 0;
      if (!geometry.clip || inside_circle(frame.side, y, x))
        expected = backprojected_pixel(views, 0, geometry.w, y, x, [&](Size a, Size i) {
          return of_slice[static_cast<std::size_t>(a)].at(i);
        });
      comparison.add(row, column, expected, read[static_cast<std::size_t>(column)]);
    }
  }
  const auto n_a = static_cast<double>(geometry.n_a);
  const double noise = std::sqrt(n_a) * lines.spread();
  const double rounding =
      rounding_of_pixels(0x1p-24, frame, geometry.n_a, std::max(comparison.largest(), noise));
  return comparison.error(std::min(n_a, 8 * std::sqrt(n_a)) * lines.tolerance() + rounding);
}

}  // namespace peakmark
