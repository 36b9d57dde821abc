// Measures the vertical shift relative to a copy of the stack. f32, first OpenCL device.
//
//   vertical_shift_bench [--benchmark_filter=fused]
//
// time_over_copies() describes the counters. Inputs are restored outside the timer. An answer is verified
// before it is timed.
#include <string>

#include "api/user_variant_adapter.hpp"
#include "kernel_bench.hpp"
#include "kernels/common/variants.hpp"
#include "kernels/operations.hpp"
#include "worker/variant.hpp"

namespace {

using namespace peakmark;

struct Stack {
  Size n_a, n_z, nx;
};

const Registry& registry() {
  static const Registry variants = [] {
    Registry all;
    add_own_variants(all, variants_of(add_vertical_shift));
    return all;
  }();
  return variants;
}

void shift_stack(benchmark::State& state, const Variant& variant, const Stack& stack,
                 const std::string& pattern) {
  const Parameters parameters({{"n_a", stack.n_a},
                               {"n_z", stack.n_z},
                               {"nx", stack.nx},
                               {"shift", pattern},
                               {"dtype", std::string("f32")}});
  const auto computation = variant.make(bench_device(), parameters);
  computation->set_up();
  computation->create_inputs();
  computation->call();
  if (const Verification verification = computation->verify(); !verification.ok) {
    state.SkipWithError(verification.message.c_str());
    return;
  }
  CopyBaseline baseline(bench_device(), Shape{stack.n_a, stack.n_z, stack.nx}.bytes(DType::f32));
  time_over_copies(
      state, baseline, [&] { computation->restore_inputs(); }, [&] { computation->call(); });
}

void register_all() {
  for (const Variant& variant : registry().variants())
    for (const Stack& stack : {Stack{1, 4096, 4096}, Stack{20, 1024, 2048}, Stack{50, 511, 613}})
      for (const char* pattern : {"random8", "integer8", "positive4", "negative4", "zero"}) {
        const std::string name = variant.description.name + "/n_a:" + std::to_string(stack.n_a) +
                                 "/n_z:" + std::to_string(stack.n_z) + "/nx:" + std::to_string(stack.nx) +
                                 "/shift:" + pattern;
        register_blocks(name, [&variant, stack, pattern](benchmark::State& state) {
          shift_stack(state, variant, stack, pattern);
        });
      }
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
