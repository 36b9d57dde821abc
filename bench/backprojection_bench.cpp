// How long does an interpolation take? f32, on the first OpenCL device.
//
//   backprojection_bench [--benchmark_filter=w:1024]
//
// Each iteration is a block: one back-projection by each variant, one after the other, so that both see the
// same machine. `linear_ns` and `tiled_ns` are medians over the blocks of the device's time over the
// interpolations, n_z · n_a · pixels; `ratio` is the median of tiled over linear within a block, `spread` the
// relative width of its middle half. An answer is verified before it is timed.
#include <string>

#include "interleaved.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/case_testing.hpp"
#include "kernels/operations.hpp"
#include "opencl_bench.hpp"

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
  const auto turns =
      time_interleaved(state, add_backprojection, {"backprojection/linear", "backprojection/tiled"},
                       [&](Parameters& parameters) {
                         set_axes(parameters, scan);
                         of_case = parameters;
                       });
  if (!turns) return;
  const auto pixels = computed_pixels(geometry_of_case(make_case(of_case)));
  const double interpolations =
      static_cast<double>(scan.n_z) * static_cast<double>(scan.n_a) * static_cast<double>(pixels);
  state.counters["linear_ns"] = turns->median_ns(0) / interpolations;
  state.counters["tiled_ns"] = turns->median_ns(1) / interpolations;
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
