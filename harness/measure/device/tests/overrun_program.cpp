// Writes one element past the end of an array, but only with the argument `overrun`. ci/oclgrind-check must
// report an error with it, and none without.
//   overrun_program [overrun]

#include <cstdio>
#include <exception>
#include <string_view>

#include "measure/device/device.hpp"
#include "test_kernels_source.hpp"

int main(int argc, char** argv) {
  using namespace peakmark;
  try {
    const Size beyond = argc > 1 && std::string_view(argv[1]) == "overrun" ? 1 : 0;
    const auto device =
        open_device(choose_device({.backend = Backend::opencl, .device = ""}, list_devices()));
    const backend::Array array = device->create("array", {16}, DType::f32);
    const backend::Kernel kernel = device->kernel(test_kernels_source(), "add_index", DType::f32);
    device->launch(kernel, {.x = 16 + beyond}, {&array, 16 + beyond, 1.0F});
    device->finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
  return 0;
}
