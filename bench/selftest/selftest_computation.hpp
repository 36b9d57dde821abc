#pragma once

#include "worker/variant.hpp"

namespace peakmark::selftest {

// A computation of known bytes, for tests of the harness: a plan of 2,000 bytes and 2,000 bytes a slice
// (input 400, output 1,200, a temporary of 400 during the call), so 42,000 bytes at n = 20.
inline constexpr Size kFixedBytes = 2000;
inline constexpr Size kSliceBytes = 2000;

class SelftestComputation : public Computation {
 public:
  SelftestComputation(Device& device, const Parameters& parameters);

  void set_up() override;
  void create_inputs() override;
  void create_outputs() override;
  void call() override;
  Verification verify() override;
  [[nodiscard]] std::optional<Size> bytes_moved() const override;
  [[nodiscard]] DType output_dtype() const override { return DType::f32; }

 protected:
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] const Parameters& parameters() const { return parameters_; }
  [[nodiscard]] Size slices() const { return parameters_.integer("n"); }

 private:
  Device& device_;
  Parameters parameters_;
  Array plan_;
  Array input_;
  Array output_;
};

/// The axis n and the request of all self-test variants; `percent` of the exact bytes is what the estimator
/// says, `extra_slice_bytes` what the variant needs a slice beyond the known bytes.
Variant selftest_variant(std::string name, std::string help, Size percent = 100, Size extra_slice_bytes = 0);

/// `make` for a computation class of the usual constructor.
template <typename T>
auto maker() {
  return [](Device& device, const Parameters& parameters) { return std::make_unique<T>(device, parameters); };
}

/// One a file.
void add_misbehaving(Registry& registry);
void add_raw_allocation(Registry& registry);
void add_loops(Registry& registry);

}  // namespace peakmark::selftest
