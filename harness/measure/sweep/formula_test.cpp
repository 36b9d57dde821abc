#include "measure/sweep/formula.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Size value(const std::string& text) {
  static const std::map<std::string, Size> axes{{"n", 20}, {"ny", 512}, {"nx", 1337}, {"pad", -3}};
  return Formula(text).evaluate_integer([](const std::string& axis) { return axes.at(axis); });
}

auto making(std::string text) {
  return [text] { (void)value(text); };
}

std::string value_or_error(const std::string& text) {
  try {
    return std::to_string(value(text));
  } catch (const OverflowError&) {
    return "overflow";
  } catch (const UsageError&) {
    return "division by zero";
  }
}

TEST(Formula, AgreesWithPythonsIntegers) {
  struct Vector {
    const char* formula;
    const char* value;
  };
  static const Vector vectors[] = {
#include "formula_vectors.inc"
  };
  for (const Vector& vector : vectors) {
    EXPECT_EQ(value_or_error(vector.formula), vector.value) << vector.formula;
    const std::string written = to_text(Formula(vector.formula).expression());
    EXPECT_EQ(value_or_error(written), vector.value) << vector.formula << " written as " << written;
  }
}

TEST(Formula, IsWrittenAsItIsRead) {
  const auto written = [](const std::string& text) { return to_text(Formula(text).expression()); };
  EXPECT_EQ(written("4*(ny+1) - (nx - n) - 3*pad"), "4 * (ny + 1) - (nx - n) - 3 * pad");
  EXPECT_EQ(written("-nx % 4"), "(0 - nx) % 4");
  EXPECT_EQ(written("max(pow2(n), nx, next_smooth(ny, 7))"), "max(max(pow2(n), nx), next_smooth(ny, 7))");
}

TEST(Formula, ALongRowOfOperationsIsNoDeepRecursion) {
  std::string text = "nx";
  for (int i = 0; i < 2000; ++i) text += " + 1";
  EXPECT_EQ(value(text), 3337);
  EXPECT_THAT(making(text + " + 1"),
              ThrowsMessage<UsageError>(HasSubstr("more than 2000 operations in a row")));
  EXPECT_THAT(making(std::string(100'000, '-') + "nx"), ThrowsMessage<UsageError>(HasSubstr("in a row")));
}

TEST(Formula, RoundsDownAndReadsNamesAndSpaces) {
  EXPECT_EQ(value("-7 / 2"), -4);
  EXPECT_EQ(value("-7 % 2"), 1);
  EXPECT_EQ(value("7 % -2"), -1);
  EXPECT_EQ(value("  ny/2+1 "), 257);
  EXPECT_EQ(value("2 * (ny + 1) - nx"), -311);
  EXPECT_EQ(value("- -pad"), -3);
  EXPECT_EQ(value("10 - 3 - 2"), 5);
  EXPECT_EQ(value("pow2(10) + pow2(0)"), 1025);
  EXPECT_EQ(value("pow2(62)"), Size{1} << 62);
  EXPECT_EQ(value("next_pow2(2 * nx)"), 4096);
  EXPECT_EQ(value("next_pow2(pad)"), 1);
  EXPECT_EQ(value("max(n)"), 20);
  EXPECT_EQ(value("ceil_div(nx, n)"), 67);
  EXPECT_EQ(value("ceil_div(-7, 2)"), -3);
  EXPECT_EQ(value("next_smooth(nx, 7)"), 1344);
  EXPECT_EQ(value("next_smooth(pad, 2)"), 1);
  EXPECT_EQ(value("9223372036854775807"), 9'223'372'036'854'775'807);
  EXPECT_THAT(Formula("nx + ny * nx + min(n, ny)").axes(), ElementsAre("nx", "ny", "n"));
}

TEST(Formula, MistakesHaveTextAndColumn) {
  EXPECT_THAT(making("ny +"),
              ThrowsMessage<UsageError>(HasSubstr("formula 'ny +', column 5: unexpected end")));
  EXPECT_THAT(making(""), ThrowsMessage<UsageError>(HasSubstr("column 1: unexpected end")));
  EXPECT_THAT(making("ny nx"), ThrowsMessage<UsageError>(HasSubstr("column 4: an operator is missing")));
  EXPECT_THAT(making("(ny"), ThrowsMessage<UsageError>(HasSubstr("column 4: ')' is missing")));
  EXPECT_THAT(making("ny)"), ThrowsMessage<UsageError>(HasSubstr("column 3: an operator is missing")));
  EXPECT_THAT(making("1.5.5"), ThrowsMessage<UsageError>(HasSubstr("not a number")));
  EXPECT_THAT(making("2nx"), ThrowsMessage<UsageError>(HasSubstr("not a number")));
  EXPECT_THAT(making("ny & 3"), ThrowsMessage<UsageError>(HasSubstr("column 4")));
  EXPECT_THROW(making(std::string("1\0", 2))(), UsageError);
  EXPECT_THAT(making("maxx(ny, 2)"),
              ThrowsMessage<UsageError>(HasSubstr("column 1: unknown function 'maxx'; did you mean 'max'?")));
  EXPECT_THAT(making("pow2(1, 2)"), ThrowsMessage<UsageError>(HasSubstr("pow2 takes one value")));
  EXPECT_THAT(making("ceil_div(nx)"), ThrowsMessage<UsageError>(HasSubstr("ceil_div takes two values")));
  EXPECT_THAT(making("next_smooth(nx, 7, 2)"),
              ThrowsMessage<UsageError>(HasSubstr("next_smooth takes two values")));
  EXPECT_THAT(
      making("next_smooth(nx, 17)"),
      ThrowsMessage<UsageError>(HasSubstr("column 1: next_smooth(…, 17): the largest prime is 2 to 13")));
  EXPECT_THAT(making("ceil_div(ny, n - 20)"), ThrowsMessage<UsageError>(HasSubstr("512 / 0 has no value")));
  EXPECT_THAT(making("min()"),
              ThrowsMessage<UsageError>(HasSubstr("column 5: expected a number or an axis")));
  EXPECT_THAT(making(std::string(100'000, '(')), ThrowsMessage<UsageError>(HasSubstr("nested too deeply")));
  EXPECT_THAT(making("ny / (n - 20)"),
              ThrowsMessage<UsageError>(HasSubstr("column 4: 512 / 0 has no value")));
  EXPECT_THAT(making("ny % 0"), ThrowsMessage<UsageError>(HasSubstr("column 4: 512 % 0 has no value")));
  EXPECT_THAT(making("pow2(pad)"), ThrowsMessage<UsageError>(HasSubstr("pow2(-3) is not an integer")));
}

TEST(Formula, OverflowIsAnError) {
  EXPECT_THAT(
      making("ny * 9223372036854775807"),
      ThrowsMessage<OverflowError>(HasSubstr("column 4: 512 * 9223372036854775807 does not fit 64 bits")));
  EXPECT_THAT(making("9223372036854775808"), ThrowsMessage<OverflowError>(HasSubstr("column 1")));
  EXPECT_THAT(making("(-9223372036854775807 - 1) / -1"),
              ThrowsMessage<OverflowError>(HasSubstr("fit 64 bits")));
  EXPECT_EQ(value("(-9223372036854775807 - 1) % -1"), 0);
  EXPECT_THAT(making("-(-9223372036854775807 - 1)"), ThrowsMessage<OverflowError>(HasSubstr("column 1")));
  EXPECT_THAT(making("pow2(63)"), ThrowsMessage<OverflowError>(HasSubstr("pow2(63)")));
  EXPECT_THAT(making("next_pow2(pow2(62) + 1)"), ThrowsMessage<OverflowError>(HasSubstr("fit 64 bits")));
}

}  // namespace
}  // namespace peakmark
