// Measures what the memory-saving variants of filtered back-projection cost in time. f32, first OpenCL
// device.
//
//   fbp_bench [--benchmark_filter=w:1024]
//
// Counters: `whole_ms`, `inplace_ms` and `kept_ms` are device times, medians over the blocks. `ratio` is
// inplace over whole, `kept_ratio` is kept over whole; see time_interleaved().
//
// `allowance/…` compares `inplace`, which filters lines in the memory of the slices, with a separate work
// buffer of 1, 2, 5 and 20 percent of the floor (input + output). `ratio` is inplace over the buffer of 5
// percent, `over_5_1` the buffer of 1 percent over that of 5 percent, and so on. `lines_…` is the number of
// lines that are filtered at a time; 0 if not even one line fits.
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernel_bench.hpp"
#include "kernels/fbp/problem.hpp"
#include "kernels/operations.hpp"

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

void set_axes(Parameters& parameters, const Scan& scan) {
  parameters.set("n_a", scan.n_a);
  parameters.set("w", scan.w);
  parameters.set("n_z", scan.n_z);
  parameters.set("mode", std::string(scan.mode));
  parameters.set("half", scan.half);
  if (scan.half != 0) {
    parameters.set("rotation_axis", std::string("90%"));
    parameters.set("angles", std::string("full_turn"));
  }
}

void compare(benchmark::State& state, const Scan& scan) {
  const auto times = time_interleaved(state, add_fbp, {"fbp/whole", "fbp/inplace", "fbp/kept"},
                                      [&](Parameters& parameters) { set_axes(parameters, scan); });
  if (!times) return;
  state.counters["whole_ms"] = times->median_ns(0) * 1e-6;
  state.counters["inplace_ms"] = times->median_ns(1) * 1e-6;
  state.counters["kept_ms"] = times->median_ns(2) * 1e-6;
  state.counters["kept_ratio"] = times->over_first(2);
}

/// Returns how many lines a separate work buffer of `percent` of the floor holds; 0 if none fits.
Size lines_in_buffer(const Scan& scan, Size percent) {
  const FbpShape shape{scan.n_z, scan.n_a, scan.w};
  FbpOptions options;
  options.mode = parse_padding_mode(scan.mode);
  LineAllowance allowance{.percent = percent, .floor_bytes = floor_bytes(shape, options)};
  for (const Part& part : angle_parts(shape, options)) allowance.table_bytes += part.fixed_bytes;
  try {
    return batch_within(filter_problem(shape, options), allowance).lines;
  } catch (const UsageError&) {
    return 0;
  }
}

void compare_allowances(benchmark::State& state, const Scan& scan) {
  std::vector<Size> batches{lines_in_buffer(scan, 5), 0};
  std::vector<Size> percents;
  for (const Size percent : {1, 2, 20}) {
    const Size lines = lines_in_buffer(scan, percent);
    state.counters["lines_" + std::to_string(percent)] = static_cast<double>(lines);
    if (lines == 0) continue;
    batches.push_back(lines);
    percents.push_back(percent);
  }
  std::size_t next = 0;
  const std::vector<std::string> variants(batches.size(), "fbp/inplace");
  const auto times = time_interleaved(state, add_fbp, variants, [&](Parameters& parameters) {
    set_axes(parameters, scan);
    parameters.set("batch", batches[next++]);
  });
  if (!times) return;
  state.counters["lines_5"] = static_cast<double>(batches[0]);
  FbpOptions options;
  options.mode = parse_padding_mode(scan.mode);
  state.counters["lines"] = static_cast<double>(line_batch({scan.n_z, scan.n_a, scan.w}, options).lines);
  state.counters["own_5_ms"] = times->median_ns(0) * 1e-6;
  state.counters["inplace_ms"] = times->median_ns(1) * 1e-6;
  for (std::size_t i = 0; i < percents.size(); ++i)
    state.counters["over_5_" + std::to_string(percents[i])] = times->over_first(i + 2);
}

void register_all() {
  for (const Scan& scan : {Scan{512, 512, 1}, Scan{1440, 1024, 1}, Scan{512, 512, 1, "edge"},
                           Scan{400, 256, 20}, Scan{1440, 512, 1, "edge", 1}})
    register_blocks(scan.name(), [scan](benchmark::State& state) { compare(state, scan); });
  for (const Scan& scan : {Scan{512, 512, 1}, Scan{1440, 1024, 1}, Scan{200, 4200, 1}})
    register_blocks("allowance/" + scan.name(),
                    [scan](benchmark::State& state) { compare_allowances(state, scan); });
}

}  // namespace

int main(int argc, char** argv) {
  return bench_main(argc, argv, register_all);
}
