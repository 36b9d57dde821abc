// What does it cost in time to stay at the floor of memory? f32, on the first OpenCL device.
//
//   fbp_bench [--benchmark_filter=w:1024]
//
// Each iteration is a block: one reconstruction by each variant, one after the other, so that all see the
// same machine. `whole_ms` and the others are medians over the blocks of the device's time; `ratio` is the
// median of inplace over whole within a block, `kept_ratio` that of kept, `spread` the relative width of the
// middle half of `ratio`. An answer is verified before it is timed.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/quantile.hpp"
#include "kernels/fbp/fbp.hpp"
#include "over_copies.hpp"
#include "worker/variant.hpp"

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

constexpr std::array<const char*, 3> kWays = {"fbp/whole", "fbp/inplace", "fbp/kept"};

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
  std::vector<std::unique_ptr<Computation>> ways;
  for (const char* name : kWays) {
    const Variant& variant = *registry.find(name);
    std::unique_ptr<Computation>& way =
        ways.emplace_back(variant.make(bench_device(), parameters_of(variant, scan)));
    way->set_up();
    way->create_inputs();
    way->create_outputs();
    way->call();
    if (const Verification verification = way->verify(); !verification.ok) {
      state.SkipWithError((std::string(name) + ": " + verification.message).c_str());
      return;
    }
  }
  std::array<std::vector<double>, kWays.size()> ms;
  std::vector<double> ratio, kept_ratio;
  for (auto _ : state) {
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      // Filtered lines filtered again take the same time as noise: nothing need be restored.
      ms[way].push_back(static_cast<double>(device_time_ns(bench_device(), [&] { ways[way]->call(); })) *
                        1e-6);
    }
    state.SetIterationTime(ms[1].back() * 1e-3);
    ratio.push_back(ms[1].back() / ms[0].back());
    kept_ratio.push_back(ms[2].back() / ms[0].back());
  }
  state.counters["whole_ms"] = quantile(ms[0], 0.5);
  state.counters["inplace_ms"] = quantile(ms[1], 0.5);
  state.counters["kept_ms"] = quantile(ms[2], 0.5);
  state.counters["ratio"] = quantile(ratio, 0.5);
  state.counters["kept_ratio"] = quantile(kept_ratio, 0.5);
  state.counters["spread"] = (quantile(ratio, 0.75) - quantile(ratio, 0.25)) / quantile(ratio, 0.5);
}

void register_all() {
  for (const Scan& scan : {Scan{512, 512, 1}, Scan{1440, 1024, 1}, Scan{512, 512, 1, "edge"},
                           Scan{400, 256, 20}, Scan{1440, 512, 1, "edge", 1}})
    register_over_copies(scan.name(), [scan](benchmark::State& state) { compare(state, scan); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
