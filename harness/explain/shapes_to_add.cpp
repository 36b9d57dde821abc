#include "explain/shapes_to_add.hpp"

#include <algorithm>

#include "sweep/choose_shapes.hpp"
#include "sweep/external_estimator.hpp"

namespace peakmark {
namespace {

// The recorded shape with the fewest elements if each axis is one of an array.
std::size_t smallest_shape(const Shapes& shapes) {
  std::size_t smallest = 0;
  double fewest = 0;
  for (std::size_t shape = 0; shape < shapes.count(); ++shape) {
    double elements = 1;
    for (const Shapes::Axis& axis : shapes.axes)
      elements *= static_cast<double>(std::max<Size>(axis.values[shape], 1));
    if (shape > 0 && elements >= fewest) continue;
    fewest = elements;
    smallest = shape;
  }
  return smallest;
}

bool is_recorded(const Shapes& shapes, const Parameters& one) {
  for (std::size_t shape = 0; shape < shapes.count(); ++shape) {
    if (std::ranges::all_of(one.values(), [&](const auto& value) {
          return std::get<Size>(value.second) == shapes.axis(value.first)->values[shape];
        }))
      return true;
  }
  return false;
}

}  // namespace

std::string shapes_to_add(const Shapes& recorded, std::size_t count) {
  VariantDescription variant;
  Parameters base;
  const std::size_t smallest = smallest_shape(recorded);
  for (const Shapes::Axis& axis : recorded.axes) {
    if (axis.name == kItemSizeAxis) continue;
    const Size min = std::ranges::min(axis.values);
    variant.axes.push_back({axis.name, axis.values[smallest], {}, min == 0 ? 0 : 1, ""});
    base.set(axis.name, axis.values[smallest]);
  }
  ShapeChooser chooser(variant, {});
  chooser.set_base(base);
  std::string text;
  for (std::size_t added = 0; added < count;) {
    const std::optional<Parameters> shape = chooser.next_fitted();
    if (!shape) break;
    if (is_recorded(recorded, *shape)) continue;
    if (added++ > 0) text += ";";
    for (const auto& [axis, value] : shape->values())
      text += (text.empty() ? "" : " ") + axis + "=" + to_text(value);
  }
  return text;
}

}  // namespace peakmark
