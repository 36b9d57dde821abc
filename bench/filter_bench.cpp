// How long does a sinogram take to be filtered? f32, VkFFT, on the first OpenCL device.
//
//   filter_bench [--benchmark_filter=w:1024]
//
// Each iteration is a block: one call of each variant, one after the other, so that both see the same
// machine, each on inputs that were restored outside the timer. `whole_ns` and `inplace_ns` are medians over
// the blocks of the device's time over the pixels, n_z · n_a · w; `ratio` is the median of inplace over whole
// within a block, `spread` the relative width of its middle half. An answer is verified before it is timed.
#include <memory>
#include <string>
#include <vector>

#include "base/quantile.hpp"
#include "kernels/filter/filter.hpp"
#include "over_copies.hpp"
#include "worker/variant.hpp"

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

Parameters parameters_of(const Variant& variant, const Scan& scan) {
  Parameters parameters = variant.description.defaults();
  parameters.set("n_a", scan.n_a);
  parameters.set("w", scan.w);
  parameters.set("n_z", scan.n_z);
  parameters.set("mode", std::string(scan.mode));
  return parameters;
}

void compare(benchmark::State& state, const Scan& scan) {
  Registry registry;
  add_filter(registry);
  const std::vector<std::string> names{"filter/whole", "filter/inplace"};
  std::vector<std::unique_ptr<Computation>> ways;
  for (const std::string& name : names) {
    const Variant& variant = *registry.find(name);
    std::unique_ptr<Computation>& way =
        ways.emplace_back(variant.make(bench_device(), parameters_of(variant, scan)));
    way->set_up();
    way->create_inputs();
    way->create_outputs();
    way->call();
    if (const Verification verification = way->verify(); !verification.ok) {
      state.SkipWithError((name + ": " + verification.message).c_str());
      return;
    }
  }
  const auto pixels = static_cast<double>(scan.n_z * scan.n_a * scan.w);
  std::vector<double> whole, inplace, ratio;
  for (auto _ : state) {
    const auto time = [&](std::size_t way) {
      ways[way]->restore_inputs();
      return static_cast<double>(device_time_ns(bench_device(), [&] { ways[way]->call(); }));
    };
    const double whole_ns = time(0);
    const double inplace_ns = time(1);
    state.SetIterationTime(inplace_ns * 1e-9);
    whole.push_back(whole_ns / pixels);
    inplace.push_back(inplace_ns / pixels);
    ratio.push_back(inplace_ns / whole_ns);
  }
  state.counters["whole_ns"] = quantile(whole, 0.5);
  state.counters["inplace_ns"] = quantile(inplace, 0.5);
  state.counters["ratio"] = quantile(ratio, 0.5);
  state.counters["spread"] = (quantile(ratio, 0.75) - quantile(ratio, 0.25)) / quantile(ratio, 0.5);
}

void register_all() {
  for (const Scan& scan :
       {Scan{512, 512, 1}, Scan{1440, 1024, 1}, Scan{1440, 1024, 1, "edge"}, Scan{2880, 2048, 1},
        Scan{2880, 2048, 1, "edge"}, Scan{401, 211, 20}, Scan{901, 4200, 1, "edge"}})
    register_over_copies(scan.name(), [scan](benchmark::State& state) { compare(state, scan); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
