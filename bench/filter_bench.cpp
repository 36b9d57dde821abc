// Measures the time to filter a sinogram. f32, VkFFT, first OpenCL device.
//
//   filter_bench [--benchmark_filter=w:1024]
//
// Counters: `whole_ns` and `inplace_ns` are device times per pixel (n_z · n_a · w of them), medians over the
// blocks. `ratio` is inplace over whole; see time_interleaved().
#include <string>

#include "kernel_bench.hpp"
#include "kernels/operations.hpp"

namespace {

using namespace peakmark;

struct Scan {
  Size n_a, w, n_z;
  const char* mode = "constant";

  [[nodiscard]] std::string name() const {
    return "n_a:" + std::to_string(n_a) + "/w:" + std::to_string(w) + "/n_z:" + std::to_string(n_z) +
           "/mode:" + mode;
  }
};

void set_axes(Parameters& parameters, const Scan& scan) {
  parameters.set("n_a", scan.n_a);
  parameters.set("w", scan.w);
  parameters.set("n_z", scan.n_z);
  parameters.set("mode", std::string(scan.mode));
}

void compare(benchmark::State& state, const Scan& scan) {
  const auto times = time_interleaved(state, add_filter, {"filter/whole", "filter/inplace"},
                                      [&](Parameters& parameters) { set_axes(parameters, scan); });
  if (!times) return;
  const auto pixels = static_cast<double>(scan.n_z * scan.n_a * scan.w);
  state.counters["whole_ns"] = times->median_ns(0) / pixels;
  state.counters["inplace_ns"] = times->median_ns(1) / pixels;
}

void register_all() {
  for (const Scan& scan :
       {Scan{512, 512, 1}, Scan{1440, 1024, 1}, Scan{1440, 1024, 1, "edge"}, Scan{2880, 2048, 1},
        Scan{2880, 2048, 1, "edge"}, Scan{401, 211, 20}, Scan{901, 4200, 1, "edge"}})
    register_blocks(scan.name(), [scan](benchmark::State& state) { compare(state, scan); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
