#include "worker/reference_case.hpp"

#include "worker/timing.hpp"

namespace peakmark {

namespace {

constexpr Size kBytes = Size{64} << 20;

class ReferenceCopy final : public Computation {
 public:
  explicit ReferenceCopy(Device& device) : device_(device) {}

  void create_inputs() override { from_ = device_.create("reference source", {kBytes}, DType::u8); }
  void create_outputs() override { to_ = device_.create("reference copy", {kBytes}, DType::u8); }
  void call() override { device_.copy(from_, 0, to_, 0, kBytes); }
  Verification verify() override { return {true, {}}; }
  [[nodiscard]] Size bytes_moved() const override { return 2 * kBytes; }
  [[nodiscard]] DType output_dtype() const override { return DType::u8; }

 private:
  Device& device_;
  Array from_;
  Array to_;
};

}  // namespace

std::optional<double> time_reference_case(Device& device, const StoppingOptions& options) {
  if (device.is_dry()) return std::nullopt;
  ReferenceCopy copy(device);
  copy.create_inputs();
  copy.create_outputs();
  const std::optional<Timing> timing = time_calls(device, copy, false, options, std::nullopt, nullptr);
  if (!timing) return std::nullopt;
  return timing->gpu_time.median_ns;
}

}  // namespace peakmark
