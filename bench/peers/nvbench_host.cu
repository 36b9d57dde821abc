// Measures peakmark's kernels with nvbench (cold), for bench/peers/nvbench.py, which compares it with
// peakmark. Built only if the CMake variable PEAKMARK_NVBENCH is set.
//
//   nvbench_host --devices 0 --axis "case=[copy,padding/computed/…]" --json FILE
//
// Calls run on the stream of peakmark's device; measure() passes it to nvbench.
#include <memory>
#include <nvbench/nvbench.cuh>
#include <string>

#include "device/device.hpp"
#include "kernels/operations.hpp"
#include "sweep/description.hpp"
#include "worker/variant.hpp"

namespace {

using namespace peakmark;

const Registry& registry() {
  static const Registry all = [] {
    Registry registry;
    add_operations(registry);
    return registry;
  }();
  return all;
}

// Size of peakmark's reference case on a GPU.
constexpr Size kCopiedBytes = Size{512} << 20;

void measure_copy(nvbench::state& state, Device& device) {
  const Array from = device.create("from", {kCopiedBytes}, DType::u8);
  Array to = device.create("to", {kCopiedBytes}, DType::u8);
  device.finish();
  state.add_global_memory_reads<nvbench::uint8_t>(static_cast<std::size_t>(kCopiedBytes));
  state.add_global_memory_writes<nvbench::uint8_t>(static_cast<std::size_t>(kCopiedBytes));
  state.exec([&](nvbench::launch&) { device.copy(from, 0, to, 0, kCopiedBytes); });
}

void measure_case(nvbench::state& state, Device& device, const std::string& name) {
  const Case one = parse_case(name, registry().describe());
  const std::unique_ptr<Computation> computation = registry().find(one.variant)->make(device, one.parameters);
  computation->set_up();
  computation->create_inputs();
  computation->create_outputs();
  device.finish();
  state.exec([&](nvbench::launch&) { computation->call(); });
}

void measure(nvbench::state& state) {
  DeviceChoice choice;
  choice.backend = Backend::cuda;
  choice.device = std::to_string(state.get_device()->get_id());
  const std::unique_ptr<Device> device = open_device(choose_device(choice, list_devices()));
  state.set_cuda_stream(nvbench::make_cuda_stream_view(static_cast<cudaStream_t>(device->native().queue)));
  const std::string name = state.get_string("case");
  if (name == "copy") {
    measure_copy(state, *device);
  } else {
    measure_case(state, *device, name);
  }
}

}  // namespace

NVBENCH_BENCH(measure).add_string_axis("case", {"copy"});
