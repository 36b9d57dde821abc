#include "kernels/vertical_shift/shift_terms.hpp"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace peakmark
