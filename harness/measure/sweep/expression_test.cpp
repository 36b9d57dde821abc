#include "measure/sweep/expression.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using Operation = Expression::Operation;
using testing::ElementsAre;

const Expression kNy = Expression::axis("ny");
const Expression kPad = Expression::axis("pad_y0");

Expression integer(Size value) {
  return Expression(value);
}

Size at(const Expression& expression, Size ny, Size pad = 0) {
  return expression.evaluate([&](const std::string& axis) { return axis == "ny" ? ny : pad; });
}

TEST(Expression, FoldsIntegersAndFlattensSumsAndProducts) {
  EXPECT_EQ(to_text(Expression::add({integer(1), Expression::add({kNy, integer(2)})})), "ny + 3");
  EXPECT_EQ(to_text(Expression::multiply({integer(2), Expression::multiply({integer(4), kNy})})), "8 * ny");
  EXPECT_TRUE(Expression::multiply({integer(0), kNy}).is_integer(0));
  EXPECT_TRUE(Expression::add({}).is_integer(0));
  EXPECT_EQ(Expression::multiply({integer(1), kNy}), kNy);
}

TEST(Expression, RoundsAsPythonDoes) {
  const auto down = Expression::apply(Operation::divide_down, {kNy, integer(4)});
  const auto up = Expression::apply(Operation::divide_up, {kNy, integer(4)});
  const auto rest = Expression::apply(Operation::remainder, {kNy, integer(4)});
  // The rows are -7 // 4, -(7 // 4), -7 % 4, and the same for 7 and 8.
  EXPECT_EQ(at(down, -7), -2);
  EXPECT_EQ(at(up, -7), -1);
  EXPECT_EQ(at(rest, -7), 1);
  EXPECT_EQ(at(down, 7), 1);
  EXPECT_EQ(at(up, 7), 2);
  EXPECT_EQ(at(rest, 7), 3);
  EXPECT_EQ(at(up, 8), 2);
}

TEST(Expression, AChoiceComputesOnlyWhatItChooses) {
  const auto choice = Expression::apply(
      Operation::if_zero, {kNy, integer(5), Expression::apply(Operation::divide_up, {integer(100), kNy})});
  EXPECT_EQ(at(choice, 0), 5);
  EXPECT_EQ(at(choice, 30), 4);
  EXPECT_EQ(to_text(choice), "if_zero(ny, 5, ceil_div(100, ny))");
  EXPECT_EQ(to_text(choice, ExpressionStyle::python), "(5 if ny == 0 else -(-100 // ny))");
  EXPECT_EQ(to_text(choice, ExpressionStyle::cpp), "(ny == 0 ? Checked(5) : Checked(ceil_div(100, ny)))");
  EXPECT_EQ(to_text(choice, ExpressionStyle::display), "(ny = 0: 5, else ⌈100/ny⌉)");
}

TEST(Expression, ErrorsHaveTheirKind) {
  EXPECT_THROW(at(Expression::apply(Operation::divide_up, {integer(1), kNy}), 0), UsageError);
  EXPECT_THROW(at(Expression::multiply({kNy, kNy}), Size{1} << 40), OverflowError);
  EXPECT_THROW(at(Expression::apply(Operation::next_pow2, {kNy}), (Size{1} << 62) + 1), OverflowError);
}

// Table 1 of the lengths that scipy.fft.next_fast_len(n) returns for complex data (factors up to 11).
TEST(Expression, NextSmoothIsThatOfScipy) {
  const auto next_smooth = [](Size length, Size prime) {
    return compute(Operation::next_smooth, length, prime);
  };
  EXPECT_EQ(next_smooth(13, 11), 14);
  EXPECT_EQ(next_smooth(97, 11), 98);
  EXPECT_EQ(next_smooth(1021, 11), 1024);
  EXPECT_EQ(next_smooth(10'007, 11), 10'080);
  EXPECT_EQ(next_smooth(0, 11), 1);
  EXPECT_EQ(next_smooth(11, 7), 12);
}

TEST(Expression, ASumTakesTheSignOfItsProduct) {
  const auto less = Expression::add({kPad, integer(-1)});
  const auto text = [](std::vector<Expression> factors) {
    return to_text(Expression::multiply(std::move(factors)), ExpressionStyle::display);
  };
  EXPECT_EQ(text({integer(-1), less}), "1 - pad_y0");
  EXPECT_EQ(text({integer(-1), less, kNy}), "(1 - pad_y0)·ny");
  EXPECT_EQ(text({integer(-4), kNy, less}), "4·ny·(1 - pad_y0)");
  EXPECT_EQ(text({integer(4), kNy, less}), "4·ny·(pad_y0 - 1)");
  EXPECT_EQ(text({integer(-4), kNy}), "(-4)·ny");
  EXPECT_EQ(text({integer(-1), Expression::add({kNy, kPad})}), "(-1)·(ny + pad_y0)");
  const auto minus = Expression::multiply({integer(-1), less});
  EXPECT_EQ(to_text(Expression::add({kNy, minus})), "ny - (pad_y0 - 1)");
  EXPECT_EQ(to_text(Expression::apply(Operation::divide_down, {minus, kNy})), "(1 - pad_y0) / ny");
  EXPECT_EQ(to_text(Expression::apply(Operation::max, {minus, kNy}), ExpressionStyle::python),
            "max(1 - pad_y0, ny)");
}

TEST(Expression, IsWrittenForPeopleAndForCompilers) {
  const auto padded = Expression::add({kNy, Expression::multiply({integer(2), kPad})});
  const auto bytes =
      Expression::multiply({integer(4), padded, Expression::apply(Operation::divide_up, {kNy, integer(64)})});
  EXPECT_EQ(to_text(bytes), "4 * (ny + 2 * pad_y0) * ceil_div(ny, 64)");
  EXPECT_EQ(to_text(bytes, ExpressionStyle::python), "4 * (ny + 2 * pad_y0) * (-(-ny // 64))");
  EXPECT_EQ(to_text(bytes, ExpressionStyle::cpp), "4 * (ny + 2 * pad_y0) * ceil_div(ny, 64)");
  EXPECT_EQ(to_text(Expression::add({kNy, Expression::multiply({integer(-2), kPad})})), "ny - 2 * pad_y0");
  EXPECT_THAT(bytes.axes(), ElementsAre("ny", "pad_y0"));
}

}  // namespace
}  // namespace peakmark
