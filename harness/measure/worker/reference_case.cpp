#include "measure/worker/reference_case.hpp"

#include <functional>
#include <utility>

#include "arithmetic_source.hpp"
#include "base/error.hpp"
#include "measure/worker/timing.hpp"

namespace peakmark {

using backend::Array;
using backend::Device;
using backend::Kernel;

namespace {

/// Amount of arithmetic: enough to fill a device of either kind, and to take about 10 ms on a CPU, 0.1 ms on
/// a GPU.
struct Amount {
  Size items;
  std::int32_t rounds;  ///< of four products and sums per item
};
constexpr Amount kForCpu{Size{1} << 14, 256};
constexpr Amount kForGpu{Size{1} << 20, 1024};

/// An array that is released at once by its destructor, so that it does not count for the next case.
class ReferenceArray {
 public:
  ReferenceArray(Device& device, std::string_view name, Size elements, DType dtype)
      : device_(device), array_(device.create(name, {elements}, dtype)) {}
  ReferenceArray(const ReferenceArray&) = delete;
  ReferenceArray& operator=(const ReferenceArray&) = delete;
  ~ReferenceArray() { device_.release(array_); }

  Array& operator*() { return array_; }

 private:
  Device& device_;
  Array array_;
};

/// Returns the median of the timing that `measure` makes; nullopt if the device cannot do it. A full device
/// must still measure its cases.
std::optional<double> median_ns(const std::function<std::optional<Timing>()>& measure) {
  try {
    if (const std::optional<Timing> timing = measure()) return timing->gpu_time.median_ns;
  } catch (const OutOfMemoryError&) {
  } catch (const UnsupportedError&) {
  }
  return std::nullopt;
}

}  // namespace

Size reference_copy_bytes(const DeviceInfo& device) {
  return Size{device.is_cpu ? 64 : 512} << 20;
}

ReferenceTime time_reference_case(Device& device, const StoppingOptions& options, ClockSource* clocks) {
  if (device.is_dry()) return {};
  const auto time_work = [&](std::function<void()> call) {
    return time_calls(device, {std::move(call)}, options, std::nullopt, nullptr, {nullptr, clocks});
  };
  ReferenceTime time;
  const Size bytes = reference_copy_bytes(device.info());
  time.copy_ns = median_ns([&] {
    ReferenceArray from(device, "reference source", bytes, DType::u8);
    ReferenceArray to(device, "reference copy", bytes, DType::u8);
    return time_work([&] { device.copy(*from, 0, *to, 0, bytes); });
  });
  if (time.copy_ns) time.copy_bytes = 2 * bytes;
  const Amount amount = device.info().is_cpu ? kForCpu : kForGpu;
  time.arithmetic_ns = median_ns([&] {
    const Kernel kernel = device.kernel(arithmetic_source(), "fixed_arithmetic", DType::f32);
    ReferenceArray to(device, "reference arithmetic", amount.items, DType::f32);
    return time_work([&] {
      device.launch(kernel, {.x = amount.items}, {&*to, amount.items, amount.rounds});
    });
  });
  return time;
}

StoppingOptions brief_stopping() {
  StoppingOptions options;
  options.min_samples = 3;
  options.min_blocks = 3;
  options.max_blocks = 3;
  options.budget_ns = 0.05e9;
  options.limit_ns = 0.5e9;
  return options;
}

}  // namespace peakmark
