// What does it cost in time to stay at the floor of memory? f32, on the first OpenCL device.
//
//   fbp_bench [--benchmark_filter=w:1024]
//
// Each iteration is a block: one reconstruction by each variant, one after the other, so that all see the
// same machine. `whole_ms` and the others are medians over the blocks of the device's time; `ratio` is the
// median of inplace over whole within a block, `kept_ratio` that of kept, `spread` the relative width of the
// middle half of `ratio`. An answer is verified before it is timed.
#include <string>

#include "in_turns.hpp"
#include "kernels/fbp/fbp.hpp"
#include "opencl_bench.hpp"

namespace {

using namespace peakmark;

struct Scan {
  Size n_a, w, n_z;
  const char* mode = "constant";
  Size half = 0;

  [[nodiscard]] std::string name() const {
    return "n_a:" + std::to_string(n_a) + "/w:" + std::to_string(w) + "/n_z:" + std::to_string(n_z) +
           "/mode:" + mode + (half != 0 ? "/half:1" : "");
  }
};

Parameters parameters_of(const Variant& variant, const Scan& scan) {
  Parameters parameters = variant.description.defaults();
  parameters.set("n_a", scan.n_a);
  parameters.set("w", scan.w);
  parameters.set("n_z", scan.n_z);
  parameters.set("mode", std::string(scan.mode));
  parameters.set("half", scan.half);
  if (scan.half != 0) {
    parameters.set("rotation_axis", std::string("90%"));
    parameters.set("angles", std::string("full_turn"));
  }
  return parameters;
}

void compare(benchmark::State& state, const Scan& scan) {
  Registry registry;
  add_fbp(registry);
  const auto turns = time_in_turns(state, registry, {"fbp/whole", "fbp/inplace", "fbp/kept"},
                                   [&](const Variant& variant) { return parameters_of(variant, scan); });
  if (!turns) return;
  state.counters["whole_ms"] = turns->median_ns(0) * 1e-6;
  state.counters["inplace_ms"] = turns->median_ns(1) * 1e-6;
  state.counters["kept_ms"] = turns->median_ns(2) * 1e-6;
  state.counters["kept_ratio"] = turns->over_first(2);
}

void register_all() {
  for (const Scan& scan : {Scan{512, 512, 1}, Scan{1440, 1024, 1}, Scan{512, 512, 1, "edge"},
                           Scan{400, 256, 20}, Scan{1440, 512, 1, "edge", 1}})
    register_blocks(scan.name(), [scan](benchmark::State& state) { compare(state, scan); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
