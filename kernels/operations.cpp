#include "kernels/operations.hpp"

#include "kernels/common/variants.hpp"
#include "measure/worker/variant.hpp"

namespace peakmark {

void add_operations(Registry& registry) {
  for (const auto add :
       {add_padding, add_mul_add, add_vertical_shift, add_backprojection, add_filter, add_fbp})
    registry.add_own(variants_of(add));
}

}  // namespace peakmark
