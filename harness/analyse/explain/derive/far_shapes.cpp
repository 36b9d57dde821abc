#include "analyse/explain/derive/far_shapes.hpp"

#include <algorithm>
#include <bit>
#include <random>

#include "base/error.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark {
namespace {

// More are drawn than needed, because some are refused: their bytes do not fit 64 bits.
constexpr std::size_t kDrawn = 2 * kMaxFarShapes;

class ShapeDraw {
 public:
  explicit ShapeDraw(const Shapes& recorded) : recorded_(recorded) {
    for (std::size_t axis = 0; axis < recorded.axes.size(); ++axis) {
      const Shapes::Axis& one = recorded.axes[axis];
      const bool is_free =
          one.name != kItemSizeAxis && !is_constant(one.values) && std::ranges::max(one.values) > 1;
      if (is_free) free_.push_back(axis);
    }
  }

  Shapes draw() {
    Shapes shapes = recorded_.subset({});
    for (std::size_t i = 0; i < kDrawn; ++i) shapes.add(drawn(i));
    return shapes;
  }

 private:
  std::vector<Size> drawn(std::size_t index) {
    std::vector<Size> lengths = recorded_.lengths(pick(recorded_.count()));
    if (free_.empty()) return lengths;
    const std::size_t changed = index % 3 == 2 ? free_.size() : index % 3 + 1;
    for (std::size_t i = 0; i < changed; ++i) {
      const std::size_t axis = index % 3 == 2 ? free_[i] : free_[pick(free_.size())];
      lengths[axis] = length(recorded_.axes[axis]);
    }
    return lengths;
  }

  // Returns a random length. All orders of magnitude are equally likely. One in four is a power of two or
  // next to one.
  Size length(const Shapes::Axis& axis) {
    const auto [min, max] = std::ranges::minmax(axis.values);
    if (min == 0 && pick(8) == 0) return 0;
    const auto orders =
        static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(max * kFarFactor)));
    const Size power = Size{1} << pick(orders);
    if (pick(4) == 0) return std::max<Size>(power + static_cast<Size>(pick(3)) - 1, 1);
    return power + static_cast<Size>(pick(static_cast<std::size_t>(power)));
  }

  std::size_t pick(std::size_t count) { return static_cast<std::size_t>(random_() % count); }

  const Shapes& recorded_;
  std::vector<std::size_t> free_;
  std::mt19937_64 random_{20261123};
};

// Returns the shapes at which the value of a formula is at least 0.
std::vector<std::size_t> valid_shapes(const Expression& formula, const Shapes& shapes) {
  const auto values = evaluate(formula, shapes);
  std::vector<std::size_t> valid;
  for (std::size_t shape = 0; shape < shapes.count(); ++shape) {
    try {
      if ((values ? (*values)[shape] : evaluate(formula, shapes, shape)) >= 0) valid.push_back(shape);
    } catch (const Error&) {  // it has no value
    }
  }
  return valid;
}

}  // namespace

Shapes far_shapes(const Shapes& recorded, const std::vector<Expression>& formulas) {
  Shapes shapes = ShapeDraw(recorded).draw();
  for (const Expression& formula : formulas) {
    const std::vector<std::size_t> valid = valid_shapes(formula, shapes);
    if (valid.size() < shapes.count()) shapes = shapes.subset(valid);
  }
  if (shapes.count() <= kMaxFarShapes) return shapes;
  std::vector<std::size_t> first(kMaxFarShapes);
  for (std::size_t i = 0; i < first.size(); ++i) first[i] = i;
  return shapes.subset(first);
}

}  // namespace peakmark
