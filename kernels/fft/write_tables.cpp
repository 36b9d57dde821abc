// Prints vkfft_tables.inc: the bytes of VkFFT's twiddle factors for each 7-smooth multiple of 4, from the
// plans that the library makes. `write_tables [opencl]`: on `dry` by default, on the first OpenCL device
// (minutes) to compare. For another version of VkFFT, first write it into the first line of vkfft_tables.inc
// and into ci/vkfft: CMake compares both.

#include <cstdio>
#include <cstring>

#include "base/error.hpp"
#include "kernels/fft/fft.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "measure/worker/opened_device.hpp"

int main(int argc, char** argv) {
  using namespace peakmark;
  try {
    const bool opencl = argc > 1 && std::strcmp(argv[1], "opencl") == 0;
    const OpenedDevice opened = open_for_public_api(opencl ? "opencl" : "dry");
    Device device(opened.abi);
    std::puts("// Made by write_tables with VkFFT " PEAKMARK_VKFFT_VERSION "; do not edit.");
    for (Size length = 4; length <= kLongestVkfftTable; length = next_fft_length(length + 1)) {
      const auto fft = make_real_fft(device, FftLibrary::vkfft, {.length = length, .lines = 2});
      std::printf("{%lld, %lld},\n", static_cast<long long>(length),
                  static_cast<long long>(fft->table_bytes()));
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_tables: %s\n", final_message(error).c_str());
    return static_cast<int>(exit_code_of(error));
  }
}
