#include "kernels/operations.hpp"

#include "api/user_variant_adapter.hpp"
#include "kernels/common/variants.hpp"

namespace peakmark {

void add_operations(Registry& registry) {
  for (const auto add :
       {add_padding, add_mul_add, add_vertical_shift, add_backprojection, add_filter, add_fbp})
    add_own_variants(registry, variants_of(add));
}

}  // namespace peakmark
