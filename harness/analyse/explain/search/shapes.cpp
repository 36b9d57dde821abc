#include "analyse/explain/search/shapes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.hpp"
#include "measure/sweep/choose_shapes.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;

const Shapes::Axis& axis_named(const Shapes& shapes, const std::string& name) {
  const Shapes::Axis* const axis = shapes.axis(name);
  if (axis == nullptr) throw UsageError(fmt::format("no shape has the axis '{}'", name));
  return *axis;
}

// Throws if a part has no value at a shape.
std::vector<Size> values_everywhere(const Expression& formula, const Shapes& shapes) {
  switch (formula.operation()) {
    case Operation::integer:
      return std::vector<Size>(shapes.count(), formula.integer());
    case Operation::axis:
      return axis_named(shapes, formula.name()).values;
    case Operation::if_zero: {
      // The part that is not chosen may have no value.
      std::vector<Size> values(shapes.count());
      for (std::size_t shape = 0; shape < values.size(); ++shape)
        values[shape] = evaluate(formula, shapes, shape);
      return values;
    }
    default:
      break;
  }
  std::vector<Size> values = values_everywhere(formula.operands().front(), shapes);
  if (formula.operands().size() == 1) {
    for (Size& value : values) value = compute(formula.operation(), value);
  }
  for (std::size_t i = 1; i < formula.operands().size(); ++i) {
    const std::vector<Size> other = values_everywhere(formula.operands()[i], shapes);
    for (std::size_t shape = 0; shape < values.size(); ++shape)
      values[shape] = compute(formula.operation(), values[shape], other[shape]);
  }
  return values;
}

}  // namespace

const Shapes::Axis* Shapes::axis(std::string_view name) const {
  const auto found = std::ranges::find(axes, name, &Axis::name);
  return found == axes.end() ? nullptr : &*found;
}

std::vector<Size> Shapes::lengths(std::size_t shape) const {
  std::vector<Size> values;
  values.reserve(axes.size());
  for (const Axis& axis : axes) values.push_back(axis.values[shape]);
  return values;
}

void Shapes::add(const std::vector<Size>& lengths) {
  for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis].values.push_back(lengths[axis]);
}

Shapes Shapes::subset(std::span<const std::size_t> shapes) const {
  Shapes part;
  part.axes.reserve(axes.size());
  for (const Axis& axis : axes) {
    Axis& one = part.axes.emplace_back();
    one.name = axis.name;
    one.values.reserve(shapes.size());
    for (const std::size_t shape : shapes) one.values.push_back(axis.values[shape]);
  }
  return part;
}

std::string shape_text(const Shapes& shapes, std::size_t shape) {
  std::vector<std::string> texts;
  texts.reserve(shapes.axes.size());
  for (const Shapes::Axis& axis : shapes.axes)
    texts.push_back(fmt::format("{}={}", axis.name, axis.values[shape]));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string ranges_text(const Shapes& shapes) {
  std::vector<std::string> texts;
  texts.reserve(shapes.axes.size());
  for (const Shapes::Axis& axis : shapes.axes) {
    const auto [min, max] = std::ranges::minmax(axis.values);
    texts.push_back(min == max ? fmt::format("{} {}", axis.name, min)
                               : fmt::format("{} {} to {}", axis.name, min, max));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

bool is_constant(std::span<const Size> values) {
  return std::ranges::adjacent_find(values, std::not_equal_to{}) == values.end();
}

Size evaluate(const Expression& formula, const Shapes& shapes, std::size_t shape) {
  return formula.evaluate([&](const std::string& name) { return axis_named(shapes, name).values[shape]; });
}

std::optional<std::vector<Size>> evaluate(const Expression& formula, const Shapes& shapes) {
  try {
    return values_everywhere(formula, shapes);
  } catch (const Error&) {
    return std::nullopt;
  }
}

namespace {

template <typename Compute>
ShapeSizes combine(const ShapeSizes& one, const ShapeSizes& other, const Compute& compute) {
  ShapeSizes result(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) result[i] = compute(one[i], other[i]);
  return result;
}

}  // namespace

ShapeSizes add(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_add);
}

ShapeSizes subtract(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_subtract);
}

ShapeSizes multiply(const ShapeSizes& one, const ShapeSizes& other) {
  return combine(one, other, checked_multiply);
}

ShapeSizes negated(ShapeSizes sizes) {
  for (Size& size : sizes) size = -size;
  return sizes;
}

bool is_zero(const ShapeSizes& sizes) {
  return std::ranges::all_of(sizes, [](Size size) { return size == 0; });
}

std::size_t ShapeSizesHash::operator()(const ShapeSizes& sizes) const {
  std::size_t hash = sizes.size();
  for (const Size size : sizes) hash = (hash ^ std::hash<Size>{}(size)) * 0x9e3779b97f4a7c15 + (hash >> 31);
  return hash;
}

Size fixed_number(const ShapeSizes& numbers) {
  Size fixed = 0;
  for (const Size one : numbers) {
    if (one == 0 || one == fixed) continue;
    if (fixed != 0) return 0;
    fixed = one;
  }
  return fixed;
}

namespace {

std::vector<Parameters> as_parameters(const Shapes& shapes) {
  std::vector<Parameters> all(shapes.count());
  for (const Shapes::Axis& axis : shapes.axes) {
    if (axis.name == kItemSizeAxis) continue;
    for (std::size_t shape = 0; shape < all.size(); ++shape) all[shape].set(axis.name, axis.values[shape]);
  }
  return all;
}

}  // namespace

std::string shapes_to_add(const Shapes& shapes, std::size_t count) {
  const std::vector<Parameters> recorded = as_parameters(shapes);
  const Parameters base = *std::ranges::min_element(recorded, {}, element_count);
  VariantDescription variant;
  for (const auto& [axis, value] : base.values()) {
    const Size min = std::ranges::min(shapes.axis(axis)->values);
    variant.axes.push_back({axis, value, {}, min == 0 ? 0 : 1, ""});
  }
  ShapeChooser chooser(variant, {});
  chooser.set_base(base);
  std::string text;
  for (std::size_t added = 0; added < count;) {
    const std::optional<Parameters> shape = chooser.next_fitted();
    if (!shape) break;
    if (std::ranges::find(recorded, *shape) != recorded.end()) continue;
    if (added++ > 0) text += ";";
    for (const auto& [axis, value] : shape->values())
      text += (text.empty() ? "" : " ") + axis + "=" + to_text(value);
  }
  return text;
}

}  // namespace peakmark
