#include "kernels/operations.hpp"

#include "api/user_variant_adapter.hpp"
#include "kernels/backprojection/backprojection.hpp"
#include "kernels/common/worker_variants.hpp"
#include "kernels/fbp/fbp.hpp"
#include "kernels/filter/filter.hpp"
#include "kernels/padding/padding.hpp"

namespace peakmark {

void add_operations(Registry& registry) {
  add_padding(registry);
  for (const auto add : {add_mul_add, add_vertical_shift}) add_own_variants(registry, variants_of(add));
  add_backprojection(registry);
  add_filter(registry);
  add_fbp(registry);
}

}  // namespace peakmark
