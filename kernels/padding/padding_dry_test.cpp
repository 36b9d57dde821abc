#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/common/variant_testing.hpp"
#include "kernels/operations.hpp"
#include "kernels/padding/computation.hpp"
#include "kernels/padding/padding_testing.hpp"

namespace peakmark {
namespace {

using testing_variants::EstimatedPart;
using testing_variants::Grain;
using testing_variants::TestVariant;
using testing_variants::TestVariants;

class PaddingOnDry : public testing::Test {
 protected:
  TestVariants variants_{add_padding};
};

Size setup_bytes(const LedgerSummary& summary) {
  for (const PhaseSummary& phase : summary.phases)
    if (phase.name == "set_up") return phase.live_at_end_bytes;
  return -1;
}

void expect_estimate_is_exact(const TestVariant& variant, const Parameters& parameters, Grain grain) {
  const LedgerSummary summary = variant.dry_summary(parameters, grain);
  const Size n = parameters.integer("n");
  EXPECT_EQ(variant.bytes(parameters, n), summary.peak_bytes);
  const std::vector<EstimatedPart> parts = variant.parts(parameters);
  for (const EstimatedPart& part : parts) {
    const auto allocation = std::ranges::find(summary.at_peak, part.name, &Allocation::name);
    ASSERT_NE(allocation, summary.at_peak.end()) << part.name;
    EXPECT_EQ(part.per_slice_bytes * n + part.fixed_bytes, allocation->bytes) << part.name;
  }
  EXPECT_EQ(summary.at_peak.size(), parts.size());
  EXPECT_EQ(std::ranges::count(summary.phases, "call", &PhaseSummary::name), 1);
  EXPECT_EQ(summary.phases.back().allocations, 0) << "a call allocates nothing";
}

TEST_F(PaddingOnDry, EveryEstimateIsExactAndEveryTermIsAnAllocation) {
  for (const TestVariant& variant : variants_)
    for (const std::string& mode : padding_mode_names())
      for (const std::string dtype : {"u8", "u16", "f32", "f64"})
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
          SCOPED_TRACE(fmt::format("{} {} {} {}", variant.name(), mode, dtype, seed));
          expect_estimate_is_exact(variant, drawn_parameters(mode, dtype, seed),
                                   seed % 2 == 0 ? Grain::cpu : Grain::gpu);
        }
}

TEST_F(PaddingOnDry, AStackBeyond32BitsIsBookedExactly) {
  for (const TestVariant& variant : variants_)
    for (const std::string& mode : padding_mode_names()) {
      SCOPED_TRACE(fmt::format("{} {}", variant.name(), mode));
      Parameters large = variant.parameters();
      large.set("mode", mode);
      large.set("n", Size{1801});
      large.set("ny", Size{2160});
      large.set("nx", Size{2560});
      expect_estimate_is_exact(variant, large, Grain::gpu);
      EXPECT_GT(variant.dry_summary(large, Grain::gpu).peak_bytes, Size{1} << 36);
    }
}

// nabu, recorded through pyopencl on PoCL: one image of 4096² f32 padded by 2048 a side.
TEST_F(PaddingOnDry, SetUpsAndPeaksAreThoseRecordedOfNabu) {
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
    const TestVariant& variant = variants_.find(recorded.variant);
    Parameters parameters = variant.parameters();
    parameters.set("mode", recorded.mode);
    parameters.set("n", Size{1});
    for (const std::string axis : {"ny", "nx"}) parameters.set(axis, Size{4096});
    for (const std::string axis : {"pad_y0", "pad_y1", "pad_x0", "pad_x1"}) parameters.set(axis, Size{2048});
    const LedgerSummary summary = variant.dry_summary(parameters, Grain::cpu);
    EXPECT_EQ(setup_bytes(summary), recorded.setup);
    EXPECT_EQ(summary.peak_bytes, recorded.peak);
  }
}

TEST_F(PaddingOnDry, CoordinatesThatInt32CannotCountAreUnsupported) {
  for (const TestVariant& variant : variants_) {
    Parameters wide = variant.parameters();
    wide.set("n", Size{1});
    wide.set("ny", Size{1});
    wide.set("nx", Size{1} << 31);
    if (variant.name() == "padding/computed")
      expect_estimate_is_exact(variant, wide, Grain::gpu);
    else
      EXPECT_THROW(static_cast<void>(variant.dry_summary(wide, Grain::gpu)),
                   testing_variants::UnsupportedCase)
          << variant.name();
  }
}

TEST_F(PaddingOnDry, NothingIsVerified) {
  const testing_variants::TestDevice device = testing_variants::open_dry();
  const TestVariant& variant = variants_.find("padding/coords2d");
  const auto test_case = variant.make(device, variant.parameters());
  test_case->create_outputs();
  EXPECT_THROW(static_cast<void>(test_case->verify()), testing_variants::UnsupportedCase);
}

TEST_F(PaddingOnDry, MovesTheInputOnceAndTheOutputOnce) {
  const testing_variants::TestDevice device = testing_variants::open_dry();
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

// The answers of the estimators, case by case.
class PaddingEstimators : public PaddingOnDry {
 protected:
  const TestVariant& coords2d_ = variants_.find("padding/coords2d");
  const TestVariant& coords1d_ = variants_.find("padding/coords1d");
  const TestVariant& computed_ = variants_.find("padding/computed");

  [[nodiscard]] Parameters parameters(const std::string& mode, Size ny, Size nx, std::array<Size, 4> pads,
                                      const std::string& dtype = "f32") const {
    return coords1d_.parameters({{"mode", mode},
                                 {"n", Size{1}},
                                 {"ny", ny},
                                 {"nx", nx},
                                 {"pad_y0", pads[0]},
                                 {"pad_y1", pads[1]},
                                 {"pad_x0", pads[2]},
                                 {"pad_x1", pads[3]},
                                 {"dtype", dtype}});
  }
};

// nabu, recorded through pyopencl on PoCL: one image of 4096² f32 padded by 2048 a side.
TEST_F(PaddingEstimators, GiveThePeaksRecordedOfNabu) {
  const Parameters edge = parameters("edge", 4096, 4096, {2048, 2048, 2048, 2048});
  EXPECT_EQ(coords2d_.bytes(edge, 1), 872'415'232);
  EXPECT_EQ(coords1d_.bytes(edge, 1), 335'609'856);
  const Parameters constant = parameters("constant", 4096, 4096, {2048, 2048, 2048, 2048});
  const Size image = Size{4096} * 4096 * 4;
  const Size padded = Size{8192} * 8192 * 4;
  EXPECT_EQ(coords2d_.bytes(constant, 1), image + 2 * padded);
  EXPECT_EQ(coords1d_.bytes(constant, 1), image + 2 * padded);
}

TEST_F(PaddingEstimators, ComputedNeedsInputAndOutputOnly) {
  for (const std::string& mode : padding_mode_names()) {
    const Size vectors = mode == "custom" ? Size{4} * ((1 + 5 + 2) + (3 + 7 + 4)) : 0;
    EXPECT_EQ(computed_.bytes(parameters(mode, 5, 7, {1, 2, 3, 4}, "u16"), 11),
              Size{11} * 2 * (5 * 7 + (1 + 5 + 2) * (3 + 7 + 4)) + vectors)
        << mode;
  }
}

TEST_F(PaddingEstimators, CoordinatesAreFixedAndDoNotGrowWithTheElement) {
  const Parameters doubles = parameters("wrap", 5, 7, {1, 2, 3, 4}, "f64");
  const Size slice = Size{8} * (5 * 7 + 8 * 14);
  EXPECT_EQ(coords2d_.bytes(doubles, 3), 3 * slice + Size{2} * 4 * 8 * 14);
  EXPECT_EQ(coords1d_.bytes(doubles, 3), 3 * slice + Size{4} * (8 + 14));
}

TEST_F(PaddingEstimators, AnswerTheSlicesThatFit) {
  const Parameters edge = parameters("edge", 10, 20, {1, 1, 1, 1});
  const Size slice = Size{4} * (10 * 20 + 12 * 22);
  const Size fixed = Size{4} * (12 + 22);
  EXPECT_EQ(coords1d_.max_slices(edge, 9 * slice + fixed).slices, 9);
  EXPECT_EQ(coords1d_.max_slices(edge, 9 * slice + fixed).dtype, DType::f32);
  EXPECT_EQ(coords1d_.max_slices(edge, 9 * slice + fixed - 1).slices, 8);
}

}  // namespace
}  // namespace peakmark
