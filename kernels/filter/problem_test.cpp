#include "kernels/filter/problem.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/error.hpp"
#include "kernels/common/case_testing.hpp"
#include "kernels/fft/fft_bytes.hpp"
#include "kernels/filter/line_filter.hpp"
#include "kernels/filter/numpy_vectors.hpp"
#include "kernels/filter/reference.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <typename Call>
std::string usage_error(Call call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

Parameters parameters(Size n_z, Size n_a, Size w, std::string filter = "ramlak") {
  return Parameters({{"n_a", n_a},
                     {"w", w},
                     {"n_z", n_z},
                     {"filter", std::move(filter)},
                     {"mode", std::string("constant")},
                     {"fft", std::string("vkfft")},
                     {"batch", Size{0}},
                     {"allowance", Size{5}}});
}

TEST(FilterReference, IsNumpysInEveryFilterAndMode) {
  ASSERT_EQ(numpy_filters().size(), 72U);
  for (const NumpyFilter& vector : numpy_filters()) {
    FilterProblem problem{.n_a = vector.n_a, .w = vector.w};
    problem.filter = parse_filter_name(vector.filter);
    problem.mode = parse_padding_mode(vector.mode);
    const std::vector<double> result = FilterReference(problem).line(vector.line);
    for (std::size_t x = 0; x < result.size(); ++x)
      EXPECT_NEAR(result[x], vector.filtered[x], 1e-15) << vector.filter << " " << vector.mode << " " << x;
  }
}

TEST(FilterReference, TwoLinesDoNotSeeEachOther) {
  for (const std::string& filter : filter_names()) {
    FilterProblem problem{.n_a = 3, .w = 101, .mode = PaddingMode::edge};
    problem.filter = parse_filter_name(filter);
    std::vector<float> one(101, 0.0F);
    std::vector<float> other(101, 1.0F);
    one[30] = 1;
    other[100] = -7;
    const FilterReference reference(problem);
    const auto [of_one, of_other] = reference.two_lines(one, other);
    EXPECT_THAT(of_one, testing::Pointwise(testing::DoubleNear(1e-14), reference.line(one))) << filter;
    EXPECT_THAT(of_other, testing::Pointwise(testing::DoubleNear(1e-14), reference.line(other))) << filter;
  }
}

// In closed form: a line with a single 1 becomes the samples of the ramp in space (Kak, Slaney, eq. 61),
// times π/n_a.
TEST(FilterReference, AnImpulseIsTheRampTimesPiOverTheAngles) {
  for (const Size n_a : {1, 180, 43'200}) {
    const FilterProblem problem{.n_a = n_a, .w = 101};
    std::vector<float> impulse(101, 0.0F);
    impulse[30] = 1;
    const std::vector<double> filtered = FilterReference(problem).line(impulse);
    for (Size x = 0; x < problem.w; ++x) {
      const double distance = std::numbers::pi * static_cast<double>(x - 30);
      const double ramp = x == 30 ? 0.25 : (x - 30) % 2 == 0 ? 0 : -1 / (distance * distance);
      EXPECT_NEAR(filtered[x], ramp * std::numbers::pi / static_cast<double>(n_a), 1e-15) << x;
    }
  }
}

TEST(FilterReference, AConstantLineBesideItsEdgesIsNearZero) {
  // The ramp removes the mean, except the part that the padded line is too short for: 2·Σ h(k) over k ≥
  // length/2.
  const FilterProblem problem{.n_a = 1, .w = 500, .mode = PaddingMode::edge};
  const std::vector<float> ones(500, 1.0F);
  for (const double value : FilterReference(problem).line(ones)) EXPECT_LT(std::abs(value), 2e-3);
}

TEST(FilterProblem, ALineIsInTheMiddleOfTheNextSmoothLength) {
  const FilterProblem problem{.n_a = 3, .w = 211};
  EXPECT_EQ(problem.padded_width(), 432);
  EXPECT_EQ(problem.padded_line().before, 110);
  EXPECT_EQ(problem.padded_line().after, 111);
  EXPECT_THAT(filter_padding_names(), ElementsAre("constant", "edge", "reflect", "symmetric", "wrap"));
}

TEST(FilterProblem, LinesOfAnyWidthHaveALengthThatLibrariesDo) {
  for (const auto& [w, padded] : {std::pair<Size, Size>{2, 4}, {3, 8}, {13, 28}, {1024, 2048}, {1337, 2688}})
    EXPECT_EQ((FilterProblem{.w = w}).padded_width(), padded) << w;
  for (Size w = 2; w < 3000; ++w) {
    const FilterProblem problem{.w = w};
    const Size length = problem.padded_width();
    EXPECT_TRUE(length >= 2 * w && length % 4 == 0 && is_seven_smooth(length)) << w;
    for (Size shorter = 2 * w; shorter < length; ++shorter)
      EXPECT_FALSE(shorter % 4 == 0 && is_seven_smooth(shorter)) << w;
    EXPECT_LE(std::abs(problem.padded_line().before - problem.padded_line().after), 1) << w;
    EXPECT_EQ(problem.padded_line().padded(), length) << w;
  }
}

TEST(FilterProblem, ErrorsAreReported) {
  EXPECT_THAT(usage_error([] { filter_problem(make_case(parameters(1, 10, 1))); }),
              HasSubstr("w is 1; a line of one pixel has no frequency"));
  EXPECT_THAT(usage_error([] { filter_problem(make_case(parameters(0, 10, 8))); }), HasSubstr("n_z is 0"));
  EXPECT_THAT(usage_error([] { filter_problem(make_case(parameters(1, 0, 8))); }), HasSubstr("n_a is 0"));
  EXPECT_THAT(usage_error([] { filter_problem(make_case(parameters(1, 10, 8, "shep-logan"))); }),
              AllOf(HasSubstr("shep-logan"), HasSubstr("'shepp-logan'")));
  FilterProblem custom = filter_problem(make_case(parameters(1, 10, 8)));
  custom.mode = PaddingMode::custom;
  EXPECT_EQ(
      usage_error([&] { check(custom); }),
      "filter: padding mode custom is not supported; use one of constant, edge, reflect, symmetric, wrap");
  EXPECT_THAT(usage_error([] { parse_fft_library("cufftw"); }), HasSubstr("write vkfft or cufft"));
  EXPECT_THAT(usage_error([] { filter_problem(make_case(parameters(Size{1} << 40, Size{1} << 20, 64))); }),
              HasSubstr("n_z 1099511627776 x n_a 1048576 x w 64"));
  try {
    filter_problem(make_case(parameters(1, 1, 200'000)));
    FAIL() << "no error";
  } catch (const Unsupported& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("lines of 200000 columns are padded to 400000, beyond 262144"),
                                    HasSubstr("up to 131072 (axis w")));
  }
  // A length that the library supports is not searched if no line may be this long.
  for (const std::string fft : {"vkfft", "cufft"})
    for (const Size w : {(Size{1} << 24) + 1, Size{10'000'000'000'001}, Size{1} << 62}) {
      Parameters wide = parameters(1, 1, w);
      wide.set("fft", fft);
      EXPECT_THAT(usage_error([&] { filter_problem(make_case(wide)); }),
                  HasSubstr(std::to_string(w) + "; the maximum is 16777216"));
    }
  Parameters widest = parameters(1, 1, Size{1} << 24);
  widest.set("fft", std::string("cufft"));
  EXPECT_EQ(filter_problem(make_case(widest)).padded_width(), Size{1} << 25);
}

TEST(LineBatch, StaysWithinTheAllowance) {
  for (const Size w : {300, 512, 2048, 4096, 4097, 16'384})
    for (const Size n_a : {301, 512, 2880, 43'200})
      for (const PaddingMode mode : {PaddingMode::constant, PaddingMode::edge}) {
        const FilterProblem problem{.n_a = n_a, .w = w, .mode = mode};
        const Size allowance = 4 * n_a * w / 20;
        const LineBatch batch = batch_within(problem, {.percent = 100, .floor_bytes = allowance});
        Size sum = 0;
        for (const Part& part : batch.parts) sum += part.fixed_bytes;
        EXPECT_LE(sum, allowance) << n_a << " " << w;
        EXPECT_TRUE(batch.lines == 1 || batch.lines % 2 == 0) << batch.lines;
      }
}

TEST(LineBatch, LiesInLentMemoryWhereThatHoldsNoFewerLines) {
  const FilterProblem problem{.n_a = 500, .w = 512};
  constexpr Size kLine = Size{4} * 1026;
  const auto names = [](const LineBatch& batch) {
    std::vector<std::string> all;
    for (const Part& part : batch.parts) all.push_back(part.name);
    return all;
  };
  LineAllowance allowance{.percent = 1, .floor_bytes = 4'000'000};
  const LineBatch own = batch_within(problem, allowance);
  EXPECT_FALSE(own.lent);
  EXPECT_THAT(names(own), ElementsAre("filter", "fft_tables", "work"));
  allowance.lent_bytes = (own.lines + 1) * kLine;
  const LineBatch lent = batch_within(problem, allowance);
  EXPECT_TRUE(lent.lent);
  EXPECT_GE(lent.lines, own.lines);
  EXPECT_THAT(names(lent), ElementsAre("filter", "fft_tables"));
  allowance.lent_bytes = 3 * kLine;
  EXPECT_FALSE(batch_within(problem, allowance).lent);
  // A batch has no more than the lines of a sinogram, and no more than 16 MiB.
  allowance.lent_bytes = Size{1} << 40;
  EXPECT_EQ(batch_within(problem, allowance).lines, 500);
  EXPECT_LE(batch_within({.n_a = 100'000, .w = 512}, allowance).lines, kLentWorkBytes / kLine);
  // The minimum is for the tables and, without lent memory, for two lines.
  EXPECT_THAT(usage_error([&] { batch_within(problem, {.percent = 1, .floor_bytes = 10'000}); }),
              HasSubstr("does not hold"));
  EXPECT_EQ(batch_within(problem, {.percent = 1, .floor_bytes = 10'000, .min_bytes = 100'000}).lines, 2);
}

TEST(LineBatch, HoldsAtLeastOneLine) {
  const FilterProblem problem{.n_a = 100, .w = 16};
  const LineBatch one = batch_of(problem, 1);
  Size needed = 0;
  for (const Part& part : one.parts) needed += part.fixed_bytes;
  EXPECT_EQ(batch_within(problem, {.percent = 100, .floor_bytes = needed}).lines, 1);
  EXPECT_THAT(usage_error([&] { batch_within(problem, {.percent = 100, .floor_bytes = needed - 1}); }),
              AllOf(HasSubstr("does not hold one line of 16 padded to 32"), HasSubstr("`batch`")));
  EXPECT_EQ(batch_of(problem, 100).lines, 100);
  EXPECT_THAT(usage_error([&] { batch_of(problem, 101); }),
              HasSubstr("batch is 101; a sinogram has 1 to 100 lines"));
  // The reported percentage is enough, and one less is not.
  const LineAllowance least{.percent = 27, .floor_bytes = (100 * (needed + 1) + 26) / 27, .table_bytes = 1};
  EXPECT_EQ(batch_within(problem, least).lines, 1);
  EXPECT_THAT(usage_error([&] {
                batch_within(problem, {.percent = 26, .floor_bytes = least.floor_bytes, .table_bytes = 1});
              }),
              AllOf(HasSubstr(", 1 of them for the angles"), HasSubstr("raise `allowance` to 27,")));
  EXPECT_THAT(
      usage_error([] { batch_of_case({.n_a = 20, .w = 16}, make_case(parameters(1, 20, 16)), 1280); }),
      HasSubstr("an allowance of 5 percent of 1280 bytes, 64,"));
}

}  // namespace
}  // namespace peakmark
