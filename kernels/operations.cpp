#include "kernels/operations.hpp"

#include "kernels/backprojection/backprojection.hpp"
#include "kernels/fbp/fbp.hpp"
#include "kernels/filter/filter.hpp"
#include "kernels/mul_add/mul_add.hpp"
#include "kernels/padding/padding.hpp"
#include "kernels/vertical_shift/vertical_shift.hpp"

namespace peakmark {

void add_operations(Registry& registry) {
  add_padding(registry);
  add_mul_add(registry);
  add_vertical_shift(registry);
  add_backprojection(registry);
  add_filter(registry);
  add_fbp(registry);
}

}  // namespace peakmark
