#include "kernels/fbp/joined_scan.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "base/error.hpp"
#include "kernels/backprojection/scan_patterns.hpp"
#include "kernels/fbp/phantom.hpp"

namespace peakmark {
namespace {

BackprojectionGeometry scan(double axis, Size n_a = 8) {
  return {.n_a = n_a, .w = 60, .axis = axis, .angles = angles_of_pattern("full_turn", n_a), .half = true};
}

std::string usage_error(const BackprojectionGeometry& geometry) {
  try {
    const JoinedScan joined(geometry);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

// At any position of the axis, two opposite lines of a phantom are one line of its projection, except for the
// error of interpolating the mirrored one.
TEST(JoinedScan, TwoLinesOfAPhantomAreOne) {
  const Phantom phantom{{1, 40, 30, 4, 3, 0.4}};
  for (const double axis : {51.0, 51.25, 48.5, 8.0, 9.75})
    for (const bool corrected : {false, true}) {
      BackprojectionGeometry geometry = scan(axis);
      if (corrected) geometry.corrections = corrections_of_pattern("drift", geometry.n_a, geometry.w);
      const bool on_columns = !corrected && 2 * axis == std::floor(2 * axis);
      const JoinedScan joined(geometry);
      const std::vector<float> sinogram = phantom_sinogram(phantom, geometry);
      const std::vector<float> expected = phantom_sinogram(phantom, joined.joined);
      ASSERT_EQ(joined.joined.n_a, 4);
      ASSERT_EQ(joined.joined.w, slice_frame(geometry).side);
      const auto line = [&](Size a) {
        return std::span(sinogram).subspan(static_cast<std::size_t>(a * 60), 60);
      };
      for (Size a = 0; a < joined.half; ++a) {
        const std::vector<float> one = joined.part_of_line(a, line(a));
        const std::vector<float> other = joined.part_of_opposite(a, line(a + joined.half));
        for (Size j = 0; j < joined.side; ++j) {
          const auto at = static_cast<std::size_t>(j);
          // Near the edge of the phantom, linear interpolation between columns has larger errors.
          const double here = expected[static_cast<std::size_t>(a * joined.side + j)];
          EXPECT_NEAR(one[at] + other[at], here,
                      on_columns  ? 1e-4
                      : here > 44 ? 0.06
                                  : 8)
              << axis << " " << a << " " << j;
        }
      }
    }
}

// A linear slope is interpolated exactly. So columns that one of the lines has seen are exact, for any
// correction of the axis, and only these columns are weighted.
TEST(JoinedScan, WhatOneLineHasSeenIsExact) {
  const auto slope = [](double from_axis) { return 100 + from_axis; };
  for (const std::pair<double, double>& axis_and_most :
       {std::pair{51.0, 7.0}, {57.5, 1.5}, {51.0, -7.0}, {8.0, -7.5}, {1.0, -1.0}}) {
    const double axis = axis_and_most.first;
    const double most = axis_and_most.second;
    BackprojectionGeometry geometry = scan(axis);
    for (Size a = 0; a < geometry.n_a; ++a)
      geometry.corrections.push_back(most * static_cast<double>(a % 3) / 2);
    const JoinedScan joined(geometry);
    const auto line = [&](Size a, double sign) {
      std::vector<float> values;
      const double at = axis + geometry.corrections[static_cast<std::size_t>(a)];
      for (Size i = 0; i < joined.w; ++i)
        values.push_back(static_cast<float>(slope(sign * (static_cast<double>(i) - at))));
      return values;
    };
    for (Size a = 0; a < joined.half; ++a) {
      const std::vector<float> one = joined.part_of_line(a, line(a, 1));
      const std::vector<float> other = joined.part_of_opposite(a, line(a + joined.half, -1));
      const JoinedScan::Mirror& mirror = joined.mirrors[static_cast<std::size_t>(a)];
      for (Size j = 0; j < joined.side; ++j) {
        const auto i = static_cast<double>(joined.column_of(a, j));
        const double mirrored = mirror.axis + mirror.opposite_axis - i;
        const double last = static_cast<double>(joined.w - 1);
        if ((i < 0 || i > last) && (mirrored < 0 || mirrored > last)) continue;
        EXPECT_NEAR(one[static_cast<std::size_t>(j)] + other[static_cast<std::size_t>(j)],
                    slope(i - mirror.axis), 1e-4)
            << axis << " " << most << " " << a << " " << j;
      }
    }
  }
}

// The joined line reaches as far from the corrected axis as the slice from its own, on both sides, and every
// column of it was seen.
TEST(JoinedScan, WithTheAxisFurtherOutAJoinedLineHasAllThatTheSliceNeeds) {
  for (const auto& [axis, most] :
       {std::pair{44.0, 8.0}, {51.25, 7.75}, {51.5, 0.5}, {16.0, -8.0}, {9.75, -9.75}, {8.0, -0.5}}) {
    BackprojectionGeometry geometry = scan(axis);
    for (Size a = 0; a < geometry.n_a; ++a)
      geometry.corrections.push_back(most * static_cast<double>(4 - a % 4) / 4);
    const JoinedScan joined(geometry);
    EXPECT_EQ(joined.side, JoinedScan(scan(axis)).side);
    const double reach = std::max(axis, static_cast<double>(joined.w - 1) - axis);
    for (Size a = 0; a < joined.half; ++a) {
      const auto at = static_cast<std::size_t>(a);
      const double axis_of_joined = joined.joined.axis + joined.joined.corrections[at];
      EXPECT_EQ(static_cast<double>(joined.column_of(a, 0)) + axis_of_joined, joined.mirrors[at].axis);
      EXPECT_GE(axis_of_joined, reach) << axis << " " << most << " " << a;
      EXPECT_GE(static_cast<double>(joined.side - 1) - axis_of_joined, reach)
          << axis << " " << most << " " << a;
    }
  }
}

TEST(JoinedScan, PartedLinesAreTheSameColumns) {
  for (const auto& [axis, corrected] :
       {std::pair{51.25, false}, {9.75, false}, {51.25, true}, {9.75, true}}) {
    BackprojectionGeometry geometry = scan(axis);
    if (corrected) geometry.corrections = std::vector<double>(8, axis > 30 ? 7.5 : -7.5);
    const JoinedScan joined(geometry);
    const std::vector<LineView> whole = line_views(joined.joined);
    const std::vector<LineView> parted = line_views(joined.parted);
    EXPECT_EQ(slice_frame(joined.parted).region, slice_frame(joined.joined).region);
    for (std::size_t a = 0; a < whole.size(); ++a) {
      EXPECT_NEAR(parted[a].start, whole[a].start, 1e-12);
      EXPECT_NEAR(parted[a + 4].start, whole[a].start - static_cast<double>(joined.split), 1e-12);
      EXPECT_EQ(parted[a + 4].cosine, whole[a].cosine);
    }
    EXPECT_LE(joined.split, joined.w);
    EXPECT_LE(joined.side - joined.split, joined.w);
  }
}

TEST(JoinedScan, ErrorsAreReported) {
  using testing::HasSubstr;
  EXPECT_EQ(usage_error(scan(51)), "no error");
  EXPECT_THAT(usage_error(scan(51, 9)), HasSubstr("9 lines are odd"));
  BackprojectionGeometry geometry = scan(51);
  geometry.angles = angles_of_pattern("half_turn", 8);
  EXPECT_THAT(usage_error(geometry), HasSubstr("is not half a turn from angle 0"));
  for (const auto& [axis, sign] : {std::pair{58.5, 1.0}, {0.5, -1.0}}) {
    geometry = scan(axis);
    geometry.corrections = std::vector<double>(8, sign);
    EXPECT_EQ(usage_error(geometry), "no error");
    geometry.corrections[2] += sign;
    EXPECT_THAT(usage_error(geometry), testing::AllOf(HasSubstr("cannot join lines 2 and 6"),
                                                      HasSubstr("reaches from -0.5 to 59.5")));
    // Also in the other line of the pair; as the mean of both, it is still seen.
    std::swap(geometry.corrections[2], geometry.corrections[6]);
    EXPECT_THAT(usage_error(geometry), HasSubstr("cannot join lines 2 and 6"));
    geometry.corrections[2] -= sign;
    EXPECT_EQ(usage_error(geometry), "no error");
    // Far from the edge, the axis may be corrected.
    geometry.corrections = std::vector<double>(8, -31 * sign);
    EXPECT_EQ(usage_error(geometry), "no error");
  }
  geometry = scan(58.5);
  geometry.half = false;
  EXPECT_THAT(usage_error(geometry), HasSubstr("no half-acquisition"));
}

TEST(NpyFile, AMissingFolderIsReported) {
  EXPECT_THROW(write_npy("/dev/null/slice.npy", 1, 1, std::vector<float>{1}), IoError);
}

}  // namespace
}  // namespace peakmark
