#include <gmock/gmock.h>

#include "base/error.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using testing_variants::expect_exact;
using testing_variants::Grain;

class FilterEstimate : public testing::Test {
 protected:
  const testing_variants::TestVariant& whole() { return variants_.find("filter/whole"); }
  const testing_variants::TestVariant& inplace() { return variants_.find("filter/inplace"); }
  testing_variants::TestVariants variants_{add_filter};
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

// Recorded peaks of nabu 2023.2.0's filtered back-projection: the slice and 8 sinograms with padding by
// zeros, 10 with padding by edges.
TEST_F(FilterEstimate, WholeTakesWhatTheOldWayTook) {
  constexpr Size kSinogram = Size{4} * 2880 * 2048;
  for (const auto& [mode, sinograms] : {std::pair{"constant", 8}, {"edge", 10}}) {
    const LedgerSummary summary = whole().dry_summary(
        whole().parameters({{"n_z", 1}, {"n_a", 2880}, {"w", 2048}, {"mode", mode}}), Grain::cpu);
    const Size beside = summary.peak_bytes - sinograms * kSinogram;
    // Two more floats per line of spectrum; the filter and the FFT's tables.
    EXPECT_EQ(beside, 8 * 2880 + 4 * 2049 + 14'016) << mode;
  }
}

TEST_F(FilterEstimate, InPlaceStaysAtTheFloorForShapesBeyondThisMachine) {
  const LedgerSummary summary =
      inplace().dry_summary(inplace().parameters({{"n_z", 1}, {"n_a", 43'200}, {"w", 16'384}}), Grain::gpu);
  EXPECT_LE(static_cast<double>(summary.peak_bytes), 1.05 * 4 * 43'200 * 16'384);
}

// There is no plan of cuFFT here; the size of its work area, as large as the spectra, is computed by formula.
TEST_F(FilterEstimate, OfCufftNeedsNoGpu) {
  const auto bytes = [](const testing_variants::TestVariant& variant, const char* fft) {
    const Parameters parameters = variant.parameters({{"n_z", 1}, {"n_a", 2880}, {"w", 2048}, {"fft", fft}});
    return variant.bytes(parameters, 1);
  };
  constexpr Size kSinogram = Size{4} * 2880 * 2048;
  EXPECT_LE(bytes(inplace(), "cufft"), kSinogram + kSinogram / 20);
  const Size spectra = kSinogram / 64 / (8 * 2049) * (8 * 2049);
  EXPECT_EQ(bytes(whole(), "cufft") - bytes(whole(), "vkfft"), spectra - 14'016);
}

TEST_F(FilterEstimate, MistakesComeBeforeAnyAllocation) {
  for (const auto& [batch, w] : {std::pair<Size, Size>{0, 16}, {1, 1}}) {
    const testing_variants::TestDevice device = testing_variants::open_dry();
    const Parameters parameters = inplace().parameters({{"n_a", 20}, {"w", w}, {"batch", batch}});
    EXPECT_THROW(inplace().make(device, parameters), UsageError);
    EXPECT_EQ(device.harness().logged_events(), 0U);
  }
  for (const testing_variants::TestVariant* variant : {&whole(), &inplace()}) {
    const testing_variants::TestDevice device = testing_variants::open_dry();
    EXPECT_THROW(variant->make(device, variant->parameters({{"filter", "ramp"}})), UsageError);
    EXPECT_THROW(variant->make(device, variant->parameters({{"mode", "custom"}})), UsageError);
    EXPECT_THROW(variant->make(device, variant->parameters({{"fft", "fftw"}})), UsageError);
    EXPECT_THROW(variant->make(device, variant->parameters({{"w", 140'000}})),
                 testing_variants::UnsupportedCase);
    EXPECT_THROW(variant->make(device, variant->parameters({{"fft", "cufft"}})),
                 testing_variants::UnsupportedCase);
    EXPECT_EQ(device.harness().logged_events(), 0U);
  }
}

}  // namespace
}  // namespace peakmark
