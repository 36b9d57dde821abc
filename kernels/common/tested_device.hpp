#pragma once

#include <string>
#include <string_view>

namespace peakmark::testing_variants {

/// The kernels that run: those for CPUs or those for GPUs, whatever the device is.
enum class Grain { cpu, gpu };

// Tests of a device are built once for each backend: see peakmark_device_test.
#ifdef PEAKMARK_TESTS_ON_CUDA
inline constexpr std::string_view kTestedBackendName = "cuda";
#else
inline constexpr std::string_view kTestedBackendName = "opencl";
#endif

/// The name of a test's parameter.
inline constexpr auto name_of_grain = [](const auto& grain) -> std::string {
  return grain.param == Grain::cpu ? "cpu_grain" : "gpu_grain";
};

}  // namespace peakmark::testing_variants
