#include "worker/reference_case.hpp"

#include "arithmetic_source.hpp"
#include "base/error.hpp"
#include "worker/timing.hpp"

namespace peakmark {

namespace {

/// Of the arithmetic: enough to fill a device of either kind, and for some 10 ms of a CPU, 0.1 ms of a GPU.
struct Amount {
  Size items;
  std::int32_t rounds;  ///< of four products and sums an item
};
constexpr Amount kForCpu{Size{1} << 14, 256};
constexpr Amount kForGpu{Size{1} << 20, 1024};

class ReferenceCopy final : public Computation {
 public:
  explicit ReferenceCopy(Device& device) : device_(device), bytes_(reference_copy_bytes(device.info())) {}
  ~ReferenceCopy() override {
    // Now, so that these arrays do not count for the next case.
    if (from_) device_.release(from_);
    if (to_) device_.release(to_);
  }

  void create_inputs() override { from_ = device_.create("reference source", {bytes_}, DType::u8); }
  void create_outputs() override { to_ = device_.create("reference copy", {bytes_}, DType::u8); }
  void call() override { device_.copy(from_, 0, to_, 0, bytes_); }
  Verification verify() override { return {true, {}}; }
  [[nodiscard]] std::optional<Size> bytes_moved() const override { return 2 * bytes_; }
  [[nodiscard]] DType output_dtype() const override { return DType::u8; }

 private:
  Device& device_;
  Size bytes_;
  Array from_;
  Array to_;
};

class ReferenceArithmetic final : public Computation {
 public:
  explicit ReferenceArithmetic(Device& device)
      : device_(device), amount_(device.info().is_cpu ? kForCpu : kForGpu) {}
  ~ReferenceArithmetic() override {
    if (to_) device_.release(to_);
  }

  void create_inputs() override {}
  void create_outputs() override {
    kernel_ = device_.kernel(arithmetic_source(), "fixed_arithmetic", DType::f32);
    to_ = device_.create("reference arithmetic", {amount_.items}, DType::f32);
  }
  void call() override {
    device_.launch(kernel_, {.x = amount_.items}, {&to_, amount_.items, amount_.rounds});
  }
  Verification verify() override { return {true, {}}; }
  [[nodiscard]] std::optional<Size> bytes_moved() const override {
    return amount_.items * size_of(DType::f32);
  }
  [[nodiscard]] DType output_dtype() const override { return DType::f32; }

 private:
  Device& device_;
  Amount amount_;
  Kernel kernel_;
  Array to_;
};

std::optional<double> median_of(Device& device, Computation& work, const StoppingOptions& options,
                                ClockSource* clocks) {
  try {
    work.create_inputs();
    work.create_outputs();
    const std::optional<Timing> timing =
        time_calls(device, work, false, options, std::nullopt, nullptr, {nullptr, clocks});
    if (timing) return timing->gpu_time.median_ns;
  } catch (const OutOfMemory&) {  // a full device has cases to measure all the same
  } catch (const Unsupported&) {
  }
  return std::nullopt;
}

}  // namespace

Size reference_copy_bytes(const DeviceInfo& device) {
  return Size{device.is_cpu ? 64 : 512} << 20;
}

ReferenceTime time_reference_case(Device& device, const StoppingOptions& options, ClockSource* clocks) {
  if (device.is_dry()) return {};
  ReferenceTime time;
  {
    ReferenceCopy copy(device);
    time.copy_ns = median_of(device, copy, options, clocks);
    if (time.copy_ns) time.copy_bytes = copy.bytes_moved();
  }
  ReferenceArithmetic arithmetic(device);
  time.arithmetic_ns = median_of(device, arithmetic, options, clocks);
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
