#include "kernels/padding/problem.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/error.hpp"
#include "kernels/common/case_testing.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;

std::string usage_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no UsageError";
}

PaddingProblem small_custom() {
  PaddingProblem problem;
  problem.mode = PaddingMode::custom;
  problem.y = {3, 1, 0};
  problem.x = {4, 0, 2};
  problem.rows = {2, 1, 0, 2};
  problem.columns = {0, 1, 2, 3, 3, 0};
  return problem;
}

Parameters parameters(Size n, Size ny, Size nx, Size pad, const std::string& dtype = "f32") {
  return Parameters({{"mode", std::string("edge")},
                     {"n", n},
                     {"ny", ny},
                     {"nx", nx},
                     {"pad_y0", pad},
                     {"pad_y1", pad},
                     {"pad_x0", pad},
                     {"pad_x1", pad},
                     {"dtype", dtype}});
}

TEST(PaddingProblem, AnUnknownModeIsReportedWithTheKnownOnes) {
  EXPECT_THAT(
      usage_error([] { parse_padding_mode("mirror"); }),
      HasSubstr("unknown mode 'mirror'; write one of constant, edge, reflect, symmetric, wrap, custom"));
  for (const std::string& name : padding_mode_names()) EXPECT_EQ(to_string(parse_padding_mode(name)), name);
}

TEST(PaddingProblem, CustomCoordinatesAreCheckedAgainstTheImage) {
  EXPECT_NO_THROW(check(small_custom()));

  PaddingProblem beyond = small_custom();
  beyond.rows[3] = 3;
  EXPECT_THAT(usage_error([&] { check(beyond); }),
              HasSubstr("row coordinate 3 is 3, outside the image's 3 rows"));

  PaddingProblem negative = small_custom();
  negative.columns[1] = -1;
  EXPECT_THAT(usage_error([&] { check(negative); }),
              HasSubstr("column coordinate 1 is -1, outside the image's 4 columns"));

  // 2^32 would be 0 if it were narrowed before it is checked.
  PaddingProblem wide = small_custom();
  wide.columns[5] = Size{1} << 32;
  EXPECT_THAT(usage_error([&] { check(wide); }), HasSubstr("is 4294967296, outside"));

  PaddingProblem few = small_custom();
  few.columns.pop_back();
  EXPECT_THAT(usage_error([&] { check(few); }), HasSubstr("5 column coordinates for 6 padded columns"));
}

TEST(PaddingProblem, SizesThatAreInvalidOrDoNotFitAreReported) {
  EXPECT_THAT(usage_error([] { padding_problem(make_case(parameters(0, 4, 4, 1))); }), HasSubstr("n is 0"));
  EXPECT_THAT(usage_error([] { padding_problem(make_case(parameters(1, 0, 4, 1))); }), HasSubstr("ny is 0"));
  EXPECT_THAT(usage_error([] { padding_problem(make_case(parameters(1, 4, 4, -1))); }),
              HasSubstr("pad_y0 is -1"));
  EXPECT_THAT(usage_error([] { padding_problem(make_case(parameters(1, 4, 4, 1, "c64"))); }),
              HasSubstr("type c64"));
  const Size most = std::numeric_limits<Size>::max();
  EXPECT_THROW(padding_problem(make_case(parameters(1, 4, 4, most))), OverflowError);
  EXPECT_THAT(usage_error([&] { padding_problem(make_case(parameters(1, 4, 4, most))); }),
              HasSubstr("pad_y0 + ny + pad_y1: 9223372036854775807 + 4 does not fit"));
  EXPECT_THROW(padding_problem(make_case(parameters(1, 4, 4, Size{1} << 31))), OverflowError);
  EXPECT_THROW(padding_problem(make_case(parameters(Size{1} << 40, 4096, 4096, 0))), OverflowError);
}

TEST(PaddingProblem, CustomCoordinatesAreBoundedBeforeTheyAreDrawn) {
  Parameters custom = parameters(1, 1, 1, Size{1} << 34);
  custom.set("mode", std::string("custom"));
  EXPECT_THAT(usage_error([&] { padding_problem(make_case(custom)); }),
              HasSubstr("pad_y0 + ny + pad_y1 is 34359738369; mode custom keeps one coordinate for each; "
                        "the maximum is 16777216"));
}

TEST(PaddingProblem, DrawnCoordinatesLieInTheImageAndRepeat) {
  Parameters custom = parameters(1, 7, 1, 300);
  custom.set("mode", std::string("custom"));
  const PaddingProblem problem = padding_problem(make_case(custom));
  EXPECT_EQ(problem.rows.size(), 607u);
  EXPECT_EQ(problem.columns, std::vector<Size>(601, 0));
  EXPECT_EQ(problem.rows, padding_problem(make_case(custom)).rows);
}

TEST(ElementBits, AreThoseOfTheValueOrAnError) {
  EXPECT_EQ(element_bits(1.5, DType::f32), std::bit_cast<std::uint32_t>(1.5F));
  EXPECT_EQ(element_bits(-2, DType::f64), std::bit_cast<std::uint64_t>(-2.0));
  EXPECT_EQ(element_bits(-2, DType::i16), 0xfffeu);
  EXPECT_EQ(element_bits(255, DType::u8), 255u);
  EXPECT_THAT(usage_error([] { element_bits(256, DType::u8); }), HasSubstr("u8 cannot hold the value 256"));
  EXPECT_THAT(usage_error([] { element_bits(-1, DType::u32); }), HasSubstr("u32 cannot hold the value -1"));
  EXPECT_THAT(usage_error([] { element_bits(1.5, DType::i32); }), HasSubstr("i32 cannot hold the value 1.5"));
  EXPECT_THAT(usage_error([] { element_bits(std::ldexp(1.0, 63), DType::i64); }),
              HasSubstr("i64 cannot hold"));
  EXPECT_THAT(usage_error([] { element_bits(std::nan(""), DType::i32); }), HasSubstr("i32 cannot hold"));
}

}  // namespace
}  // namespace peakmark
