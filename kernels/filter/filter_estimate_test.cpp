#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"
#include "worker/variant.hpp"

namespace peakmark {
namespace {

using testing_variants::dry_summary;
using testing_variants::expect_exact;
using testing_variants::parameters_of;

class FilterEstimate : public testing::Test {
 protected:
  FilterEstimate() { add_filter(registry_); }
  const Variant& whole() { return *registry_.find("filter/whole"); }
  const Variant& inplace() { return *registry_.find("filter/inplace"); }
  Registry registry_;
};

TEST_F(FilterEstimate, IsExact) {
  for (const char* mode : {"constant", "edge", "wrap"})
    for (const Size n_z : {1, 20, 37})
      for (const Size w : {211, 1024, 2048, 4097, 16'384})
        for (const Size n_a : {401, 2880}) {
          expect_exact(whole(), {{"n_z", n_z}, {"n_a", n_a}, {"w", w}, {"mode", mode}});
          expect_exact(inplace(), {{"n_z", n_z}, {"n_a", n_a}, {"w", w}, {"mode", mode}});
        }
  for (const Size batch : {1, 2, 7, 31})
    expect_exact(inplace(), {{"n_z", 3}, {"n_a", 31}, {"w", 20}, {"batch", batch}});
  expect_exact(inplace(), {{"n_z", 3}, {"n_a", 31}, {"w", 20}, {"allowance", 100}});
  expect_exact(whole(), {{"n_z", 1}, {"n_a", 1}, {"w", 2}});
}

// Recorded of nabu 2023.2.0's filtered back-projection: 8 sinograms beside the slice with zeros, 10 with
// edges.
TEST_F(FilterEstimate, WholeTakesWhatTheOldWayTook) {
  constexpr Size kSinogram = Size{4} * 2880 * 2048;
  for (const auto& [mode, sinograms] : {std::pair{"constant", 8}, {"edge", 10}}) {
    const LedgerSummary summary = dry_summary(
        whole(), parameters_of(whole(), {{"n_z", 1}, {"n_a", 2880}, {"w", 2048}, {"mode", mode}}), true);
    const Size beside = summary.peak_bytes - sinograms * kSinogram;
    // Two more floats a line of spectrum; the filter and the FFT's tables.
    EXPECT_EQ(beside, 8 * 2880 + 4 * 2049 + 14'016) << mode;
  }
}

TEST_F(FilterEstimate, InPlaceStaysAtTheFloorForShapesBeyondThisMachine) {
  const LedgerSummary summary =
      dry_summary(inplace(), parameters_of(inplace(), {{"n_z", 1}, {"n_a", 43'200}, {"w", 16'384}}), false);
  EXPECT_LE(static_cast<double>(summary.peak_bytes), 1.05 * 4 * 43'200 * 16'384);
}

// cuFFT is not planned here; its work area, as large as the spectra, is written down.
TEST_F(FilterEstimate, OfCufftNeedsNoGpu) {
  const auto bytes = [](const Variant& variant, const char* fft) {
    const Parameters parameters =
        parameters_of(variant, {{"n_z", 1}, {"n_a", 2880}, {"w", 2048}, {"fft", fft}});
    return variant.estimators.at(0)->bytes(variant.request(parameters), 1);
  };
  constexpr Size kSinogram = Size{4} * 2880 * 2048;
  EXPECT_LE(bytes(inplace(), "cufft"), kSinogram + kSinogram / 20);
  const Size spectra = kSinogram / 64 / (8 * 2049) * (8 * 2049);
  EXPECT_EQ(bytes(whole(), "cufft") - bytes(whole(), "vkfft"), spectra - 14'016);
}

TEST_F(FilterEstimate, MistakesComeBeforeAnyAllocation) {
  for (const auto& [batch, w] : {std::pair<Size, Size>{0, 16}, {1, 1}}) {
    const auto device = open_dry();
    const Parameters parameters = parameters_of(inplace(), {{"n_a", 20}, {"w", w}, {"batch", batch}});
    EXPECT_THROW(inplace().make(*device, parameters), UsageError);
    EXPECT_EQ(device->allocation_log().count(), 0U);
  }
  for (const Variant* variant : {&whole(), &inplace()}) {
    const auto device = open_dry();
    EXPECT_THROW(variant->make(*device, parameters_of(*variant, {{"filter", "ramp"}})), UsageError);
    EXPECT_THROW(variant->make(*device, parameters_of(*variant, {{"mode", "custom"}})), UsageError);
    EXPECT_THROW(variant->make(*device, parameters_of(*variant, {{"fft", "fftw"}})), UsageError);
    EXPECT_THROW(variant->make(*device, parameters_of(*variant, {{"w", 140'000}})), Unsupported);
    EXPECT_THROW(variant->make(*device, parameters_of(*variant, {{"fft", "cufft"}})), Unsupported);
    EXPECT_EQ(device->allocation_log().count(), 0U);
  }
}

}  // namespace
}  // namespace peakmark
