#include "kernels/padding/padded_template.hpp"

#include "kernels/common/device_inputs.hpp"
#include "kernels/padding/element_type.hpp"
#include "padding_tables_source.hpp"

namespace peakmark {

Array create_padded_template(Device& device, const PaddingProblem& problem) {
  Array image = device.create_uninitialised("template", problem.image_shape(), problem.dtype);
  const Size count = image.shape().elements();
  const ItemsOfRuns items = items_of_runs(device, count);
  const PaddedAxis& y = problem.y;
  const PaddedAxis& x = problem.x;
  const auto bits = [&](double value) { return element_bits(value, problem.dtype); };
  device.launch(device.kernel(padding_tables_source(), "side_values", bits_of(problem.dtype)), items.range,
                {&image, count, x.padded(), y.before, y.before + y.extent, x.before, x.before + x.extent,
                 bits(problem.values.y0), bits(problem.values.y1), bits(problem.values.x0),
                 bits(problem.values.x1), items.run});
  return image;
}

}  // namespace peakmark
