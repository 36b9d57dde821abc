// What does it cost in time to stay at the floor of memory? f32, on the first OpenCL device.
//
//   fbp_bench [--benchmark_filter=w:1024]
//
// Each iteration is a block: one reconstruction by each variant, one after the other, so that all see the
// same machine. `whole_ms` and the others are medians over the blocks of the device's time; `ratio` is the
// median of inplace over whole within a block, `kept_ratio` that of kept, `spread` the relative width of the
// middle half of `ratio`. An answer is verified before it is timed.
//
// `allowance/…`: `inplace` as it is, whose lines are filtered in the memory of the slices, against work
// buffers of its own that fill 1, 2, 5 and 20 percent of the floor. `ratio` is over that of 5 percent;
// `over_5_1` is that of 1 percent over that of 5, and so on; `lines…` is how many lines are filtered at a
// time. 0: not even one line fits.
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "interleaved.hpp"
#include "kernels/fbp/problem.hpp"
#include "kernels/operations.hpp"
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
  const auto turns = time_interleaved(state, add_fbp, {"fbp/whole", "fbp/inplace", "fbp/kept"},
                                      [&](Parameters& parameters) { set_axes(parameters, scan); });
  if (!turns) return;
  state.counters["whole_ms"] = turns->median_ns(0) * 1e-6;
  state.counters["inplace_ms"] = turns->median_ns(1) * 1e-6;
  state.counters["kept_ms"] = turns->median_ns(2) * 1e-6;
  state.counters["kept_ratio"] = turns->over_first(2);
}

/// Lines of a batch that fills so many percent of the floor, with a work buffer of its own; 0 where none
/// fits.
Size lines_of_own(const Scan& scan, Size percent) {
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
  std::vector<Size> batches{lines_of_own(scan, 5), 0};
  std::vector<Size> percents;
  for (const Size percent : {1, 2, 20}) {
    const Size lines = lines_of_own(scan, percent);
    state.counters["lines_" + std::to_string(percent)] = static_cast<double>(lines);
    if (lines == 0) continue;
    batches.push_back(lines);
    percents.push_back(percent);
  }
  std::size_t next = 0;
  const std::vector<std::string> variants(batches.size(), "fbp/inplace");
  const auto turns = time_interleaved(state, add_fbp, variants, [&](Parameters& parameters) {
    set_axes(parameters, scan);
    parameters.set("batch", batches[next++]);
  });
  if (!turns) return;
  state.counters["lines_5"] = static_cast<double>(batches[0]);
  FbpOptions options;
  options.mode = parse_padding_mode(scan.mode);
  state.counters["lines"] = static_cast<double>(line_batch({scan.n_z, scan.n_a, scan.w}, options).lines);
  state.counters["own_5_ms"] = turns->median_ns(0) * 1e-6;
  state.counters["inplace_ms"] = turns->median_ns(1) * 1e-6;
  for (std::size_t i = 0; i < percents.size(); ++i)
    state.counters["over_5_" + std::to_string(percents[i])] = turns->over_first(i + 2);
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
