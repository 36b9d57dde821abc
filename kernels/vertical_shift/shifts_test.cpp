#include "kernels/vertical_shift/shifts.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;

void expect_term(const ShiftTerm& term, Size from, Size to, Size rows, double factor) {
  EXPECT_EQ(term.from, from);
  EXPECT_EQ(term.to, to);
  EXPECT_EQ(term.rows, rows);
  EXPECT_DOUBLE_EQ(term.factor, factor);
}

TEST(ShiftTerms, Upwards) {
  const auto terms = shift_terms(2.25F, 10, DType::f64);
  expect_term(terms[0], 2, 0, 8, 0.75);
  expect_term(terms[1], 3, 0, 7, 0.25);
}

TEST(ShiftTerms, Downwards) {
  const auto terms = shift_terms(-2.25F, 10, DType::f32);
  expect_term(terms[0], 0, 3, 7, 0.25);
  expect_term(terms[1], 0, 2, 8, 0.75);
}

TEST(ShiftTerms, AWholeShiftHasOneTerm) {
  for (const float shift : {0.0F, 3.0F, -3.0F}) {
    const auto terms = shift_terms(shift, 10, DType::f32);
    EXPECT_EQ(terms[0].rows, 10 - static_cast<Size>(std::abs(shift)));
    EXPECT_EQ(terms[1].rows, 0);
  }
}

TEST(ShiftTerms, TheLastRowThatReachesIn) {
  EXPECT_EQ(shift_terms(9.5F, 10, DType::f32)[0].rows, 1);
  EXPECT_EQ(shift_terms(9.5F, 10, DType::f32)[1].rows, 0);
  EXPECT_EQ(shift_terms(-9.5F, 10, DType::f32)[0].rows, 0);
  EXPECT_EQ(shift_terms(-9.5F, 10, DType::f32)[1].rows, 1);
}

TEST(ShiftTerms, BeyondTheRadioNothingIsLeft) {
  for (const float shift : {10.0F, -10.0F, 10.5F, -10.5F, 1e30F, -1e30F})
    for (const ShiftTerm& term : shift_terms(shift, 10, DType::f32)) EXPECT_EQ(term.rows, 0) << shift;
}

TEST(ShiftsOfChunk, AnyStartAndOrder) {
  const std::vector<float> shifts{0, 10, 20, 30};
  EXPECT_THAT(shifts_of_chunk(shifts, std::vector<Size>{2, 3}), ElementsAre(20, 30));
  EXPECT_THAT(shifts_of_chunk(shifts, std::vector<Size>{3, 0, 3}), ElementsAre(30, 0, 30));
}

TEST(ShiftsOfChunk, AnAngleThatIsNotThereIsAUsageError) {
  const std::vector<float> shifts{0, 10};
  EXPECT_THROW(shifts_of_chunk(shifts, std::vector<Size>{2}), UsageError);
  EXPECT_THROW(shifts_of_chunk(shifts, std::vector<Size>{-1}), UsageError);
}

TEST(CheckShifts, OneFiniteShiftForEachRadio) {
  const std::vector<float> two{1, 2};
  EXPECT_NO_THROW(check_shifts(two, 2));
  EXPECT_THROW(check_shifts(two, 3), UsageError);
  const std::vector<float> infinite{1, std::numeric_limits<float>::infinity()};
  EXPECT_THROW(check_shifts(infinite, 2), UsageError);
}

using testing::AllOf;
using testing::Each;
using testing::ElementsAreArray;
using testing::Ge;
using testing::Le;

TEST(ShiftPattern, AChunkHasTheShiftsThatItHasInTheWholeStack) {
  for (const std::string& pattern : shift_patterns()) {
    const std::vector<float> many = shifts_of_angles(pattern, 100, 64);
    const std::vector<float> few = shifts_of_angles(pattern, 7, 64);
    EXPECT_THAT(few, ElementsAreArray(many.begin(), many.begin() + 7)) << pattern;
  }
}

TEST(ShiftPattern, KeepsItsWord) {
  EXPECT_THAT(shifts_of_angles("random8", 1000, 64), Each(AllOf(Ge(-8), Le(8))));
  EXPECT_THAT(shifts_of_angles("integer8", 1000, 64),
              Each(testing::Truly([](float s) { return std::floor(s) == s && std::abs(s) <= 8; })));
  EXPECT_THAT(shifts_of_angles("positive4", 1000, 64), Each(AllOf(Ge(0), Le(4))));
  EXPECT_THAT(shifts_of_angles("negative4", 1000, 64), Each(AllOf(Ge(-4), Le(0))));
  EXPECT_THAT(shifts_of_angles("zero", 10, 64), Each(0));
  EXPECT_THAT(shifts_of_angles("beyond", 100, 64),
              Each(testing::Truly([](float s) { return std::abs(s) > 64; })));
}

TEST(ShiftPattern, BothSignsIfTheWordAsksForThem) {
  for (const char* pattern : {"random8", "integer8", "beyond"}) {
    const std::vector<float> shifts = shifts_of_angles(pattern, 100, 64);
    EXPECT_LT(*std::ranges::min_element(shifts), 0) << pattern;
    EXPECT_GT(*std::ranges::max_element(shifts), 0) << pattern;
  }
}

TEST(ShiftPattern, AnUnknownWordIsAUsageErrorThatListsThem) {
  try {
    shift_of_angle("random9", 0, 64);
    FAIL() << "not thrown";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "unknown shift pattern 'random9'; write one of random8, integer8, positive4, negative4, "
                 "zero, beyond");
  }
}

TEST(MostShiftedRows, IsThatOfTheAnglesOneByOne) {
  for (const std::string& pattern : shift_patterns())
    for (const Size n_z : {1, 2, 7, 64})
      for (const Size n_a : {1, 2, 5, 40}) {
        Size most = 0;
        for (const float shift : shifts_of_angles(pattern, n_a, n_z))
          for (const ShiftTerm& term : shift_terms(shift, n_z, DType::f32)) most = std::max(most, term.rows);
        EXPECT_EQ(max_shifted_rows(pattern, n_a, n_z, DType::f32), most)
            << pattern << " " << n_a << " " << n_z;
      }
}

TEST(MostShiftedRows, OfAnyNumberOfAnglesComesAtOnce) {
  for (const std::string& pattern : shift_patterns())
    EXPECT_EQ(max_shifted_rows(pattern, Size{1} << 60, 64, DType::f32), pattern == "beyond" ? 0 : 64);
}

}  // namespace

}  // namespace peakmark
