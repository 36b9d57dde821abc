// Measures the vertical shift relative to a copy of the stack. f32, first OpenCL device.
//
//   vertical_shift_bench [--benchmark_filter=fused]
//
// time_over_copies() describes the counters. Inputs are restored outside the timer. An answer is verified
// before it is timed.
#include <string>

#include "kernel_bench.hpp"
#include "kernels/operations.hpp"

namespace {

using namespace peakmark;

struct Stack {
  Size n_a, n_z, nx;
};

void register_all() {
  for (const char* method : {"temporaries", "muladd", "fused"})
    for (const Stack& stack : {Stack{1, 4096, 4096}, Stack{20, 1024, 2048}, Stack{50, 511, 613}})
      for (const char* pattern : {"random8", "integer8", "positive4", "negative4", "zero"}) {
        const std::string variant = "vertical_shift/" + std::string(method);
        const Parameters parameters({{"n_a", stack.n_a},
                                     {"n_z", stack.n_z},
                                     {"nx", stack.nx},
                                     {"shift", std::string(pattern)},
                                     {"dtype", std::string("f32")}});
        const Size bytes = stack.n_a * stack.n_z * stack.nx * static_cast<Size>(sizeof(float));
        const std::string name = variant + "/n_a:" + std::to_string(stack.n_a) +
                                 "/n_z:" + std::to_string(stack.n_z) + "/nx:" + std::to_string(stack.nx) +
                                 "/shift:" + pattern;
        register_blocks(name, [variant, parameters, bytes](benchmark::State& state) {
          time_variant_over_copies(state, add_vertical_shift, variant, parameters, bytes);
        });
      }
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
