#include "kernels/vertical_shift/shift_pattern.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "kernels/vertical_shift/shift_terms.hpp"

namespace peakmark {
namespace {

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

TEST(ShiftPattern, BothSignsWhereTheWordSaysSo) {
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
    EXPECT_STREQ(
        error.what(),
        "there is no shift pattern 'random9'; those there are: random8, integer8, positive4, negative4, "
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
        EXPECT_EQ(most_shifted_rows(pattern, n_a, n_z, DType::f32), most)
            << pattern << " " << n_a << " " << n_z;
      }
}

TEST(MostShiftedRows, OfAnyNumberOfAnglesComesAtOnce) {
  for (const std::string& pattern : shift_patterns())
    EXPECT_EQ(most_shifted_rows(pattern, Size{1} << 60, 64, DType::f32), pattern == "beyond" ? 0 : 64);
}

}  // namespace
}  // namespace peakmark
