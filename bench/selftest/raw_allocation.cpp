#include "raw_memory.hpp"
#include "selftest_computation.hpp"

namespace peakmark::selftest {

namespace {

constexpr Size kRawSliceBytes = 1000;

/// 1,000 bytes a slice straight from the driver during each call: only a recorder sees them.
class RawAllocation final : public SelftestComputation {
 public:
  using SelftestComputation::SelftestComputation;

  void call() override {
    const Size bytes = checked_multiply(slices(), kRawSliceBytes);
    const std::unique_ptr<RawMemory> raw = allocate_raw(device(), bytes);
    SelftestComputation::call();
    device().finish();
  }
};

}  // namespace

void add_raw_allocation(Registry& registry) {
  Variant variant =
      selftest_variant("selftest/raw_allocation", "allocates past our arrays", 100, kRawSliceBytes);
  variant.description.backends = {"opencl", "cuda"};
  variant.make = maker<RawAllocation>();
  registry.add(std::move(variant));
}

}  // namespace peakmark::selftest
