#include "kernels/backprojection/angle_table.hpp"

#include <cmath>

namespace peakmark {

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
