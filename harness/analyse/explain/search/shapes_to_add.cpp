#include "analyse/explain/search/shapes_to_add.hpp"

#include <algorithm>

#include "measure/sweep/choose_shapes.hpp"
#include "measure/sweep/external_estimator.hpp"

namespace peakmark {
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
