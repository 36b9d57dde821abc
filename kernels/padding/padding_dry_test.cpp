#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/error.hpp"
#include "device/dry/dry_device.hpp"
#include "kernels/padding/computation.hpp"
#include "kernels/padding/padding_cases.hpp"
#include "ledger/ledger.hpp"

namespace peakmark {
namespace {

/// What one case allocates from setup to the end of its second call.
LedgerSummary booked(const Variant& variant, const Parameters& parameters, bool is_cpu) {
  const auto device = open_dry({.is_cpu = is_cpu});
  device->set_event_source(&device->allocation_log());
  const auto computation = variant.make(*device, parameters);
  device->allocation_log().phase("set-up");
  computation->set_up();
  device->allocation_log().phase("inputs");
  computation->create_inputs();
  device->allocation_log().phase("outputs");
  computation->create_outputs();
  device->allocation_log().phase("call");
  computation->call();
  computation->call();
  device->finish();
  return summarise(device->allocation_log().events(0));
}

Size setup_bytes(const LedgerSummary& summary) {
  for (const PhaseSummary& phase : summary.phases)
    if (phase.name == "set-up") return phase.live_at_end_bytes;
  return -1;
}

void expect_estimate_is_exact(const Variant& variant, const Parameters& parameters, bool is_cpu) {
  const LedgerSummary summary = booked(variant, parameters, is_cpu);
  const EstimateRequest request = variant.request(parameters);
  const Size n = parameters.integer("n");
  EXPECT_EQ(variant.estimators.front()->bytes(request, n), summary.peak_bytes);
  for (const Term& term : variant.estimators.front()->terms(request)) {
    const auto allocation = std::ranges::find(summary.at_peak, term.name, &Allocation::name);
    ASSERT_NE(allocation, summary.at_peak.end()) << term.name;
    EXPECT_EQ(term.per_slice_bytes * n + term.fixed_bytes, allocation->bytes) << term.name;
  }
  EXPECT_EQ(summary.at_peak.size(), variant.estimators.front()->terms(request).size());
  EXPECT_EQ(std::ranges::count(summary.phases, "call", &PhaseSummary::name), 1);
  EXPECT_EQ(summary.phases.back().allocations, 0) << "a call allocates nothing";
}

TEST(PaddingOnDry, EveryEstimateIsExactAndEveryTermIsAnAllocation) {
  for (const Variant& variant : padding_variants())
    for (const std::string& mode : padding_mode_names())
      for (const std::string dtype : {"u8", "u16", "f32", "f64"})
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", variant.description.name, mode, dtype, seed));
          expect_estimate_is_exact(variant, drawn_parameters(variant, mode, dtype, seed), seed % 2 == 0);
        }
}

TEST(PaddingOnDry, AStackBeyond32BitsIsBookedExactly) {
  for (const Variant& variant : padding_variants())
    for (const std::string& mode : padding_mode_names()) {
      SCOPED_TRACE(fmt::format("{} {}", variant.description.name, mode));
      Parameters large = default_parameters(variant);
      large.set("mode", mode);
      large.set("n", Size{1801});
      large.set("ny", Size{2160});
      large.set("nx", Size{2560});
      expect_estimate_is_exact(variant, large, false);
      EXPECT_GT(booked(variant, large, false).peak_bytes, Size{1} << 36);
    }
}

// nabu, recorded through pyopencl on PoCL: one image of 4096² f32 padded by 2048 a side.
TEST(PaddingOnDry, SetUpsAndPeaksAreThoseRecordedOfNabu) {
  const Size image = Size{4096} * 4096 * 4;
  const Size padded = Size{8192} * 8192 * 4;
  struct Recorded {
    std::string variant, mode;
    Size setup, peak;
  };
  for (const Recorded& recorded : {Recorded{"padding/coords2d", "edge", 536'870'912, 872'415'232},
                                   Recorded{"padding/coords2d", "custom", 536'870'912, 872'415'232},
                                   Recorded{"padding/coords2d", "constant", padded, image + 2 * padded},
                                   Recorded{"padding/coords1d", "reflect", 65'536, 335'609'856},
                                   Recorded{"padding/coords1d", "constant", padded, image + 2 * padded},
                                   Recorded{"padding/computed", "constant", 0, image + padded},
                                   Recorded{"padding/computed", "wrap", 0, image + padded}}) {
    SCOPED_TRACE(fmt::format("{} {}", recorded.variant, recorded.mode));
    const std::vector<Variant> variants = padding_variants();
    const auto variant = std::ranges::find_if(
        variants, [&](const Variant& candidate) { return candidate.description.name == recorded.variant; });
    ASSERT_NE(variant, variants.end());
    Parameters parameters = default_parameters(*variant);
    parameters.set("mode", recorded.mode);
    parameters.set("n", Size{1});
    for (const std::string axis : {"ny", "nx"}) parameters.set(axis, Size{4096});
    for (const std::string axis : {"pad_y0", "pad_y1", "pad_x0", "pad_x1"}) parameters.set(axis, Size{2048});
    const LedgerSummary summary = booked(*variant, parameters, true);
    EXPECT_EQ(setup_bytes(summary), recorded.setup);
    EXPECT_EQ(summary.peak_bytes, recorded.peak);
  }
}

TEST(PaddingOnDry, CoordinatesThatInt32CannotCountAreUnsupported) {
  for (const Variant& variant : padding_variants()) {
    Parameters wide = default_parameters(variant);
    wide.set("n", Size{1});
    wide.set("ny", Size{1});
    wide.set("nx", Size{1} << 31);
    if (variant.description.name == "padding/computed")
      expect_estimate_is_exact(variant, wide, false);
    else
      EXPECT_THROW(booked(variant, wide, false), Unsupported) << variant.description.name;
  }
}

TEST(PaddingOnDry, NothingIsVerified) {
  const auto device = open_dry();
  const Variant variant = padding_variants().front();
  const auto computation = variant.make(*device, default_parameters(variant));
  computation->create_outputs();
  EXPECT_THROW(static_cast<void>(computation->verify()), Unsupported);
}

TEST(PaddingOnDry, MovesTheInputOnceAndTheOutputOnce) {
  const auto device = open_dry();
  PaddingProblem problem;
  problem.n = 2;
  problem.y = {3, 1, 2};
  problem.x = {5, 0, 4};
  EXPECT_EQ(make_computed(*device, problem, KernelGrain::rows)->bytes_moved(), Size{2} * 4 * (3 * 5 + 6 * 9));
  problem.mode = PaddingMode::custom;
  problem.rows = {1, 1, 1, 2, 2, 1};
  problem.columns = {0, 1, 2, 3, 4, 4, 4, 4, 4};
  EXPECT_EQ(make_computed(*device, problem, KernelGrain::rows)->bytes_moved(), Size{2} * 4 * (2 * 5 + 6 * 9));
}

}  // namespace
}  // namespace peakmark
