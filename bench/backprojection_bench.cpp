// Measures the time per interpolation of the back-projection variants. f32, first OpenCL device.
//
//   backprojection_bench [--benchmark_filter=w:1024]
//
// Counters: `linear_ns` and `tiled_ns` are device times per interpolation (n_z · n_a · pixels of them),
// medians over the blocks. `ratio` is tiled over linear; see time_interleaved().
#include <string>

#include "kernel_bench.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/case_testing.hpp"
#include "kernels/operations.hpp"

namespace {

using namespace peakmark;

struct Scan {
  Size n_a, w, n_z;
  Size half = 0, clip = 0;

  [[nodiscard]] std::string name() const {
    return "n_a:" + std::to_string(n_a) + "/w:" + std::to_string(w) + "/n_z:" + std::to_string(n_z) +
           (half != 0 ? "/half:1" : "") + (clip != 0 ? "/clip:1" : "");
  }
};

void set_axes(Parameters& parameters, const Scan& scan) {
  parameters.set("n_a", scan.n_a);
  parameters.set("w", scan.w);
  parameters.set("n_z", scan.n_z);
  parameters.set("half", scan.half);
  parameters.set("clip", scan.clip);
  if (scan.half != 0) {
    parameters.set("rotation_axis", std::string("80%"));
    parameters.set("angles", std::string("full_turn"));
  }
}

void compare(benchmark::State& state, const Scan& scan) {
  Parameters of_case;
  const auto times =
      time_interleaved(state, add_backprojection, {"backprojection/linear", "backprojection/tiled"},
                       [&](Parameters& parameters) {
                         set_axes(parameters, scan);
                         of_case = parameters;
                       });
  if (!times) return;
  const auto pixels = computed_pixels(geometry_of_case(make_case(of_case)));
  const double interpolations =
      static_cast<double>(scan.n_z) * static_cast<double>(scan.n_a) * static_cast<double>(pixels);
  state.counters["linear_ns"] = times->median_ns(0) / interpolations;
  state.counters["tiled_ns"] = times->median_ns(1) / interpolations;
}

void register_all() {
  for (const Scan& scan : {Scan{512, 512, 1}, Scan{1440, 1024, 1}, Scan{181, 128, 20}, Scan{61, 4096, 1},
                           Scan{720, 512, 1, 1, 0}, Scan{720, 512, 1, 0, 1}})
    register_blocks(scan.name(), [scan](benchmark::State& state) { compare(state, scan); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
