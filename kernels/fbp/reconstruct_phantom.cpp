// Reconstructs the head phantom of Shepp and Logan on a device and writes the slice as a .npy file: `--help`.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/error.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/fbp/phantom.hpp"
#include "kernels/fbp/reconstructor.hpp"
#include "measure/worker/opened_device.hpp"

namespace {

using namespace peakmark;

struct Options {
  std::string backend, device, method = "inplace", scan = "half_turn", filter = "ramlak", output, truth;
  Size n_a = 720, w = 512;
};

void reconstruct(const Options& options) {
  FbpOptions fbp;
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace, FbpMethod::kept})
    if (options.method == to_string(method)) fbp.method = method;
  fbp.filter = parse_filter_name(options.filter);
  fbp.half = options.scan == "half_acquisition";
  fbp.batch = std::min<Size>(64, fbp.half ? options.n_a / 2 : options.n_a);
  // In this half-acquisition a tenth of the columns is seen twice.
  if (fbp.half) fbp.axis = 0.95 * static_cast<double>(options.w - 1);
  const FbpAngles angles{
      angles_of_pattern(options.scan == "half_turn" ? "half_turn" : "full_turn", options.n_a)};

  const OpenedDevice opened = open_for_public_api(options.backend, options.device);
  Device device(opened.abi);
  Reconstructor reconstructor(device, {1, options.n_a, options.w}, fbp, angles);
  const BackprojectionGeometry& geometry = reconstructor.geometry();
  const SliceFrame frame = slice_frame(geometry);
  // Upright, and with a margin inside the area that every line sees.
  const Phantom head = shepp_logan(0.98 * static_cast<double>(frame.side - 1) / 2);
  const std::vector<float> lines = phantom_sinogram(head, geometry);
  reconstructor.set_up();
  DeviceArray sinogram =
      create_with<float>(device, "sinograms", reconstructor.sinograms_shape(), std::span<const float>(lines));
  DeviceArray slice = create_uninitialised(device, "slices", reconstructor.slices_shape(), DType::f32);
  reconstructor(sinogram, slice);
  write_npy(options.output, frame.side, frame.side, slice.read<float>());
  if (!options.truth.empty()) write_npy(options.truth, frame.side, frame.side, phantom_slice(head, geometry));
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Reconstructs the head phantom of Shepp and Logan, and writes the slice as a .npy file");
  app.add_option("-o,--output", options.output, "The slice, f32")->required();
  app.add_option("--truth", options.truth, "The phantom itself, of the same shape");
  app.add_option("--backend", options.backend, "opencl or cuda");
  app.add_option("--device", options.device, "Index of the device, or part of its name");
  app.add_option("--variant", options.method, "of fbp")->check(CLI::IsMember({"whole", "inplace", "kept"}));
  app.add_option("--scan", options.scan, "What was measured")
      ->check(CLI::IsMember({"half_turn", "full_turn", "half_acquisition"}));
  app.add_option("--filter", options.filter, "ramlak, shepp-logan, hann, …");
  app.add_option("--n_a", options.n_a, "Angles")->check(CLI::Range(1, 1'000'000));
  app.add_option("--w", options.w, "Columns of a line")->check(CLI::Range(2, 65'536));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(ExitCode::usage);
  }
  reconstruct(options);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "reconstruct_phantom: %s\n", final_message(error).c_str());
    return static_cast<int>(exit_code_of(error));
  }
}
