#pragma once

#include "peakmark/worker.hpp"
#include "selftest_variants.hpp"

namespace peakmark::selftest {

// A computation of known bytes, for tests of the harness: a plan of 2,000 bytes, and 2,000 bytes per slice
// (input 400, output 1,200, a temporary of 400 during the call), so 42,000 bytes at n = 20.
inline constexpr Size kFixedBytes = 2000;
inline constexpr Size kSliceBytes = 2000;

class SelftestComputation : public Computation {
 public:
  SelftestComputation(Device& device, const Case& asked) : device_(device), asked_(asked) {}

  void set_up() override;
  void create_inputs() override;
  void create_outputs() override;
  void call() override;
  std::string verify() override;
  [[nodiscard]] std::optional<Size> bytes_moved() const override;

 protected:
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] const Case& asked() const { return asked_; }
  [[nodiscard]] Size slices() const { return asked_["n"]; }

 private:
  Device& device_;
  Case asked_;
  Array<float> plan_, input_, output_;
};

/// Returns a variant with the axis n. Its estimator predicts `percent` of the exact bytes. The variant needs
/// `extra_slice_bytes` per slice beyond the known bytes.
Variant selftest_variant(std::string name, std::string help, Size percent = 100, Size extra_slice_bytes = 0);

// One function per file.
void add_misbehaving(Worker& worker);
void add_raw_allocation(Worker& worker);
void add_loops(Worker& worker);

}  // namespace peakmark::selftest
