#pragma once

// For tests of operations: opens devices, makes, calls and verifies a case as the harness does, through the C
// ABI, and compares its estimate with the allocations on `dry`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "kernels/common/arrays.hpp"
#include "kernels/common/harness_testing.hpp"
#include "peakmark/worker.hpp"

namespace peakmark::testing_variants {

/// The name of a test's parameter.
inline constexpr auto name_of_grain = [](const auto& grain) -> std::string {
  return grain.param == Grain::cpu ? "cpu_grain" : "gpu_grain";
};

// Device tests are built once for each backend: see peakmark_device_test.
#ifdef PEAKMARK_TESTS_ON_CUDA
inline constexpr std::string_view kTestedBackendName = "cuda";
#else
inline constexpr std::string_view kTestedBackendName = "opencl";
#endif

/// A public Device and the device of the harness behind it.
class TestDevice {
 public:
  explicit TestDevice(HarnessDevice harness)
      : harness_(std::move(harness)), device_(std::make_shared<Device>(harness_.abi)) {}

  [[nodiscard]] Device& operator*() const { return *device_; }
  [[nodiscard]] Device* operator->() const { return device_.get(); }
  // For TestVariant::make.
  operator const HarnessDevice&() const { return harness_; }
  [[nodiscard]] const HarnessDevice& harness() const { return harness_; }

 private:
  HarnessDevice harness_;
  std::shared_ptr<Device> device_;
};

/// Opens the device of these tests, with kernels of this grain. `compute_units` replaces the device's own
/// number.
inline TestDevice open_tested(Grain grain, std::optional<Size> compute_units = std::nullopt) {
  return TestDevice(open_harness_device(kTestedBackendName, grain, compute_units));
}
/// Opens the first CUDA device, for programs that are not built once for each backend.
inline TestDevice open_cuda() {
  return TestDevice(open_harness_device("cuda", Grain::gpu, std::nullopt));
}
/// Opens a dry device. `budget_bytes`: its memory; null: unlimited.
inline TestDevice open_dry(Grain grain = Grain::gpu, std::optional<Size> budget_bytes = std::nullopt) {
  return TestDevice(open_harness_dry(grain, budget_bytes));
}
/// Opens a device that reports the backend CUDA, with arrays in host memory. It runs no kernels and has no
/// f64. It is for tests of CUDA libraries without a GPU.
inline TestDevice open_host_memory() {
  return TestDevice(open_harness_host_memory());
}

inline std::string case_text(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters.values()) text += name + ":" + peakmark::to_text(value) + " ";
  return text;
}

/// Calls twice, the second time on restored inputs, as a trial does. Then returns what is wrong.
inline std::string verify(const TestDevice& device, const TestVariant& variant,
                          const Parameters& parameters) {
  const auto test_case = variant.make(device, parameters);
  test_case->set_up();
  test_case->create_inputs();
  test_case->create_outputs();
  test_case->call();
  test_case->restore_inputs();
  test_case->call();
  device->finish();
  return test_case->verify();
}

inline void expect_right(const TestDevice& device, const TestVariant& variant, Overrides overrides) {
  const Parameters parameters = variant.parameters(overrides);
  EXPECT_EQ(verify(device, variant, parameters), "") << variant.name() << " " << case_text(parameters);
}

/// Expects that the variant's own estimator predicts the peak on `dry` exactly, for CPUs and GPUs. With this
/// much memory, it must answer the slices used, and with one byte less, one slice less.
inline void expect_exact(const TestVariant& variant, Overrides overrides) {
  const Parameters parameters = variant.parameters(overrides);
  const Size slices = variant.slices(parameters);
  const std::string case_name = variant.name() + " " + case_text(parameters);
  Size peak = 0;
  for (const Grain grain : {Grain::cpu, Grain::gpu}) {
    peak = variant.dry_summary(parameters, grain).peak_bytes;
    EXPECT_EQ(variant.bytes(parameters, slices), peak) << case_name;
  }
  const SlicesAnswer answer = variant.max_slices(parameters, peak);
  EXPECT_EQ(answer.slices, slices) << case_name;
  const AxisValue* const dtype = parameters.find("dtype");
  EXPECT_EQ(answer.dtype, dtype == nullptr ? DType::f32 : parse_dtype(std::get<std::string>(*dtype)))
      << case_name;
  EXPECT_EQ(variant.max_slices(parameters, peak - 1).slices, slices - 1) << case_name;
}

}  // namespace peakmark::testing_variants
