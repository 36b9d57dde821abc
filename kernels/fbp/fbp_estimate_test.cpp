#include <gmock/gmock.h>

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/common/case_testing.hpp"
#include "kernels/common/variant_testing.hpp"
#include "kernels/fbp/reconstructor.hpp"
#include "kernels/operations.hpp"

namespace peakmark {
namespace {

using std::string;
using testing::ElementsAre;
using testing_variants::expect_exact;
using testing_variants::Grain;

class FbpEstimate : public testing::Test {
 protected:
  const testing_variants::TestVariant& find(const string& method) { return variants_.find("fbp/" + method); }
  testing_variants::TestVariants variants_{add_fbp};
};

TEST_F(FbpEstimate, IsExact) {
  for (const char* method : {"whole", "inplace", "kept"})
    for (const char* mode : {"constant", "edge"})
      for (const Size n_z : {1, 20})
        for (const Size chunk : {0, 1})
          for (const auto& [n_a, w] : {std::pair<Size, Size>{1001, 211}, {2880, 2048}, {1201, 4200}}) {
            expect_exact(find(method),
                         {{"n_a", n_a}, {"w", w}, {"n_z", n_z}, {"mode", string(mode)}, {"chunk", chunk}});
            expect_exact(find(method), {{"n_a", n_a + n_a % 2},
                                        {"w", w},
                                        {"n_z", n_z},
                                        {"mode", string(mode)},
                                        {"chunk", chunk},
                                        {"half", Size{1}},
                                        {"rotation_axis", string("85%")},
                                        {"angles", string("full_turn")},
                                        {"correction", string("drift")},
                                        {"roi_y0", Size{7}},
                                        {"roi_h", Size{300}}});
          }
  for (const char* method : {"inplace", "kept"})
    for (const Size batch : {1, 2, 7, 31})
      expect_exact(find(method), {{"n_z", Size{3}}, {"n_a", Size{31}}, {"w", Size{20}}, {"batch", batch}});
  for (const char* method : {"whole", "inplace", "kept"})
    for (const Size n_z : {1, 4, 6, 7, 8, 23}) expect_exact(find(method), {{"n_z", n_z}, {"chunk", Size{7}}});
}

// Fewer slices than a chunk are processed together; there is no step at a full chunk.
TEST_F(FbpEstimate, MoreMemoryIsNeverFewerSlices) {
  for (const char* method : {"whole", "inplace", "kept"}) {
    const testing_variants::TestVariant& variant = find(method);
    const FbpShape shape{30, 400, 256};
    FbpOptions options;
    options.method = method == string("whole")     ? FbpMethod::whole
                     : method == string("inplace") ? FbpMethod::inplace
                                                   : FbpMethod::kept;
    options.chunk = 7;
    const Parameters parameters = variant.parameters({{"chunk", options.chunk}, {"n_z", shape.n_z}});
    Size before = 0;
    for (Size available_bytes = 0; available_bytes < 40'000'000; available_bytes += 333'333) {
      const Size slices = variant.max_slices(parameters, available_bytes).slices;
      EXPECT_GE(slices, before);
      before = slices;
      EXPECT_EQ(std::min(slices, shape.n_z), estimate_max_chunk_size(available_bytes, shape, options));
      EXPECT_LE(variant.bytes(parameters, slices),
                slices == 0 ? variant.bytes(parameters, 0) : available_bytes);
      EXPECT_GT(variant.bytes(parameters, slices + 1), available_bytes);
      // A run with the answered slices fits.
      if (slices > 0 && slices < 12) {
        EXPECT_LE(
            variant.dry_summary(variant.parameters({{"chunk", options.chunk}, {"n_z", slices}}), Grain::gpu)
                .peak_bytes,
            available_bytes);
      }
    }
    EXPECT_GT(before, 12) << method;
  }
}

// An invalid case of the variant has no estimate either.
TEST_F(FbpEstimate, WhatCannotRunIsNotEstimated) {
  using testing::HasSubstr;
  for (const char* method : {"whole", "inplace", "kept"}) {
    const testing_variants::TestVariant& variant = find(method);
    const auto message = [&](testing_variants::Overrides overrides) -> string {
      const Parameters parameters = variant.parameters(overrides);
      const testing_variants::TestDevice device = testing_variants::open_dry();
      string made = "no error";
      try {
        variant.make(device, parameters);
      } catch (const UsageError& error) {
        made = error.what();
      }
      try {
        static_cast<void>(variant.bytes(parameters, 1));
      } catch (const UsageError& error) {
        EXPECT_EQ(error.what(), made);
        return error.what();
      }
      return "no error";
    };
    EXPECT_THAT(message({{"half", Size{1}}}), HasSubstr("give a full turn in equal steps"));
    EXPECT_THAT(message({{"half", Size{1}},
                         {"angles", string("full_turn")},
                         {"rotation_axis", string("255")},
                         {"correction", string("drift")}}),
                HasSubstr("outside the sinogram, which reaches from -0.5 to 255.5"));
    EXPECT_EQ(message({{"half", Size{1}},
                       {"angles", string("full_turn")},
                       {"rotation_axis", string("255")},
                       {"correction", string("none")}}),
              "no error");
    EXPECT_EQ(message({{"chunk", Size{50}}}), "no error");
  }
}

TEST_F(FbpEstimate, WrongAnglesAreUsageErrorsBeforeAnyAllocation) {
  using testing::HasSubstr;
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace, FbpMethod::kept}) {
    FbpOptions options;
    options.method = method;
    options.batch = 1;
    const auto message = [&](FbpAngles angles) -> string {
      const testing_variants::TestDevice device = testing_variants::open_dry();
      try {
        const Reconstructor reconstructor(*device, {1, 3, 53}, options, std::move(angles));
      } catch (const UsageError& error) {
        EXPECT_EQ(device.harness().logged_events(), 0U);
        return error.what();
      }
      return "no error";
    };
    EXPECT_EQ(message({{0, 1, 2}}), "no error");
    EXPECT_THAT(message({{0, 1}}), HasSubstr("2 angles for a sinogram of 3 lines"));
    EXPECT_THAT(message({{0, std::numeric_limits<double>::quiet_NaN(), 2}}), HasSubstr("angle 1 is nan"));
    EXPECT_THAT(message({{0, 1, 2}, {0}}), HasSubstr("1 corrections of the axis"));
    EXPECT_THAT(message({{0, 1, 2}, {0, 54, 0}}), HasSubstr("1 is 54 columns; the maximum is 53"));
  }
}

TEST_F(FbpEstimate, NamesEveryPartAsItsAllocation) {
  const auto names = [&](const char* method, const char* mode) {
    const Parameters parameters =
        find(method).parameters({{"mode", string(mode)}, {"correction", string("drift")}});
    std::vector<string> all;
    for (const testing_variants::EstimatedPart& part : find(method).parts(parameters))
      all.push_back(part.name);
    return all;
  };
  EXPECT_THAT(names("whole", "constant"),
              ElementsAre("sinograms", "slices", "filtered", "padded", "spectrum", "filter", "template",
                          "fft_tables", "cosines", "sines", "corrections"));
  EXPECT_THAT(names("inplace", "edge"),
              ElementsAre("sinograms", "slices", "filter", "columns", "fft_tables", "angle_table"));
  EXPECT_THAT(names("kept", "constant"),
              ElementsAre("sinograms", "slices", "filtered", "filter", "fft_tables", "angle_table"));
}

// The project's goal for every shape of suites/fbp-large.toml and every mode, one slice at a time, also for
// half-acquisition with the axis of that suite.
TEST_F(FbpEstimate, InPlaceStaysWithinAPercentOfTheFloor) {
  for (const auto& [n_a, w] : {std::pair<Size, Size>{43'200, 16'384}, {7200, 4096}, {2880, 2048}})
    for (const char* mode : {"constant", "edge", "reflect", "symmetric", "wrap"})
      for (const Size half : {0, 1})
        for (const Grain grain : {Grain::cpu, Grain::gpu}) {
          const Parameters parameters =
              find("inplace").parameters({{"n_z", Size{1}},
                                          {"n_a", n_a},
                                          {"w", w},
                                          {"mode", string(mode)},
                                          {"half", half},
                                          {"angles", string(half == 1 ? "full_turn" : "half_turn")},
                                          {"rotation_axis", string(half == 1 ? "96%" : "centre")},
                                          {"correction", string(half == 1 ? "drift" : "none")}});
          const Size side = slice_frame(frame_geometry_of_case(make_case(parameters))).side;
          EXPECT_EQ(side > w, half == 1);
          const Size floor = 4 * (n_a * w + side * side);
          const Size peak = find("inplace").dry_summary(parameters, grain).peak_bytes;
          EXPECT_LE(static_cast<double>(peak), 1.01 * static_cast<double>(floor)) << n_a << mode << half;
          if (n_a == 43'200 && half == 0) {
            EXPECT_LE(peak, 3'943'000'000) << mode;
          }
        }
}

// A region smaller than a padded line cannot contain the work buffer.
TEST_F(FbpEstimate, WorkIsAnAllocationWhereTheSlicesAreTooSmall) {
  const auto has_work = [&](Size rows, Size batch) {
    const Parameters parameters = find("inplace").parameters({{"roi_h", rows}, {"batch", batch}});
    return std::ranges::any_of(find("inplace").parts(parameters),
                               [](const auto& part) { return part.name == "work"; });
  };
  EXPECT_FALSE(has_work(0, 0));
  EXPECT_FALSE(has_work(100, 0));
  EXPECT_TRUE(has_work(3, 0));
  EXPECT_TRUE(has_work(0, 2));
  for (const char* method : {"inplace", "kept"})
    for (const Size rows : {1, 3, 5, 24, 100})
      for (const Size n_z : {1, 7})
        for (const Size chunk : {0, 2})
          expect_exact(find(method), {{"roi_h", rows}, {"n_z", n_z}, {"chunk", chunk}});
}

// Recorded peaks of nabu's filtered back-projection (2023.2.0), host to host: 8 sinograms and the slice if
// lines are padded with zeros, 10 and the slice if they are padded with their edges.
TEST_F(FbpEstimate, WholeTakesWhatTheOldWayTook) {
  constexpr Size kSinogram = Size{4} * 2880 * 2048;
  constexpr Size kSlice = Size{4} * 2048 * 2048;
  for (const auto& [mode, sinograms] : {std::pair{"constant", 8}, {"edge", 10}}) {
    const LedgerSummary summary = find("whole").dry_summary(
        find("whole").parameters({{"n_z", Size{1}}, {"n_a", Size{2880}}, {"w", Size{2048}}, {"mode", mode}}),
        Grain::gpu);
    // Two more floats per line of spectrum; the filter; the FFT's tables; a cosine and a sine per angle.
    EXPECT_EQ(summary.peak_bytes - sinograms * kSinogram - kSlice, 8 * 2880 + 4 * 2049 + 14'016 + 8 * 2880)
        << mode;
  }
}

TEST_F(FbpEstimate, TheFunctionsAgreeWithTheEstimator) {
  const FbpShape shape{37, 2880, 2048};
  for (const FbpMethod method : {FbpMethod::whole, FbpMethod::inplace, FbpMethod::kept}) {
    FbpOptions options;
    options.method = method;
    options.mode = PaddingMode::edge;
    options.chunk = method == FbpMethod::kept ? 1 : 0;
    const Size required = estimate_required_memory(shape, options);
    const testing_variants::TestVariant& variant = find(string(to_string(method)));
    EXPECT_EQ(
        variant
            .dry_summary(
                variant.parameters(
                    {{"n_z", Size{37}}, {"n_a", Size{2880}}, {"w", Size{2048}}, {"mode", string("edge")}}),
                Grain::gpu)
            .peak_bytes,
        required);
    EXPECT_EQ(estimate_max_chunk_size(required, shape, options), 37);
    EXPECT_EQ(estimate_max_chunk_size(required - 1, shape, options), 36);
    EXPECT_EQ(estimate_max_chunk_size(Size{1} << 50, shape, options), 37) << "no more than there are";
    const Size of_one = estimate_required_memory({1, 2880, 2048}, options);
    EXPECT_EQ(estimate_max_chunk_size(of_one, shape, options), 1);
    EXPECT_EQ(estimate_max_chunk_size(of_one - 1, shape, options), 0);
    EXPECT_EQ(estimate_max_chunk_size(0, shape, options), 0);
  }
}

TEST_F(FbpEstimate, MistakesComeBeforeAnyAllocation) {
  const auto message = [&](const char* method, testing_variants::Overrides overrides) -> string {
    const testing_variants::TestDevice device = testing_variants::open_dry();
    try {
      find(method).make(device, find(method).parameters(overrides));
    } catch (const UsageError& error) {
      EXPECT_EQ(device.harness().logged_events(), 0U);
      return error.what();
    }
    return "no error";
  };
  using testing::AllOf;
  using testing::HasSubstr;
  for (const char* method : {"whole", "inplace", "kept"}) {
    EXPECT_THAT(message(method, {{"w", Size{1}}}), HasSubstr("needs two or more"));
    EXPECT_THAT(message(method, {{"rotation_axis", string("256")}}), HasSubstr("outside the sinogram"));
    EXPECT_THAT(message(method, {{"roi_y0", Size{200}}, {"roi_h", Size{57}}}),
                HasSubstr("does not lie inside the slice of 256 x 256"));
    EXPECT_THAT(message(method, {{"filter", string("shep-logan")}}),
                AllOf(HasSubstr("shep-logan"), HasSubstr("'shepp-logan'")));
    EXPECT_THAT(message(method, {{"roi_y0", Size{300}}}), HasSubstr("roi_y0 is 300; the slice has 256 rows"));
    EXPECT_THAT(message(method, {{"n_a", Size{1} << 40}}),
                HasSubstr("1099511627776 lines (n_a); the maximum is 16777216"));
  }
  // With this number of angles, the tables alone exceed 512 KiB.
  EXPECT_THAT(message("inplace", {{"n_a", Size{20'000}}, {"w", Size{16}}}),
              AllOf(HasSubstr("an allowance of 1 percent of 1281024 bytes, 524288, does not hold one line of "
                              "16 padded to 32: that takes 640332 bytes"),
                    HasSubstr("640000 of them for the angles"), HasSubstr("raise `allowance` to 50"),
                    HasSubstr("`batch`")));
  EXPECT_THAT(message("inplace", {{"n_z", Size{1} << 60}}), HasSubstr("n_z 1152921504606846976 x n_a 400"));
  EXPECT_THAT(message("inplace", {{"n_z", Size{1} << 46}, {"n_a", Size{1}}, {"w", Size{256}}}),
              HasSubstr("70368744177664 sinograms and slices (n_z) of 263168 bytes"));
  EXPECT_THAT(message("inplace", {{"half", Size{1}}, {"angles", string("full_turn")}, {"batch", Size{300}}}),
              HasSubstr("batch is 300; the 400 lines of half-acquisition are joined to 200: give 1 to 200"));
  EXPECT_THAT(message("kept", {{"batch", Size{401}}}), HasSubstr("a sinogram has 1 to 400 lines"));
}

TEST_F(FbpEstimate, ANegativeBatchIsNoBatch) {
  FbpOptions options;
  for (const bool half : {false, true}) {
    options.half = half;
    options.batch = -1;
    EXPECT_THROW(fbp_parts({1, 400, 256}, options), UsageError);
  }
}

}  // namespace
}  // namespace peakmark
