#include "measure/sweep/parameters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Parameters example() {
  return Parameters({{"mode", std::string("edge")}, {"nx", Size{512}}});
}

TEST(Parameters, AreReadByNameAndType) {
  EXPECT_EQ(example().integer("nx"), 512);
  EXPECT_EQ(example().word("mode"), "edge");
  EXPECT_EQ(example().find("ny"), nullptr);
}

TEST(Parameters, NameTheAxisThatIsNotThereOrOfTheOtherType) {
  EXPECT_THAT([] { (void)example().integer("nxx"); },
              ThrowsMessage<UsageError>(HasSubstr("unknown axis 'nxx'; did you mean 'nx'?")));
  EXPECT_THAT([] { (void)example().integer("mode"); },
              ThrowsMessage<UsageError>(HasSubstr("axis 'mode' is the word 'edge', not an integer")));
  EXPECT_THAT([] { (void)example().word("nx"); },
              ThrowsMessage<UsageError>(HasSubstr("axis 'nx' is the integer 512, not a word")));
}

TEST(Parameters, KeepTheirOrderWhenSet) {
  Parameters parameters = example();
  parameters.set("mode", std::string("wrap"));
  parameters.set("ny", Size{7});
  EXPECT_EQ(parameters, Parameters({{"mode", std::string("wrap")}, {"nx", Size{512}}, {"ny", Size{7}}}));
}

TEST(Parameters, ShareTheirValuesUntilACopyIsSet) {
  const Parameters first = example();
  Parameters copy = first;
  EXPECT_EQ(&copy.values(), &first.values());
  copy.set("nx", Size{7});
  EXPECT_EQ(copy.integer("nx"), 7);
  EXPECT_EQ(first.integer("nx"), 512);

  Parameters other = example();
  EXPECT_NE(&other.values(), &first.values());
  other.share(first);
  EXPECT_EQ(&other.values(), &first.values());
  copy.share(first);
  EXPECT_EQ(copy.integer("nx"), 7) << "other values stay";
  EXPECT_EQ(Parameters{}, Parameters(Parameters::Values{}));
}

TEST(Parameters, KeepEqualPairsOfAxisAndValueOnce) {
  const Parameters first = example();
  Parameters other({{"mode", std::string("wrap")}, {"nx", Size{512}}, {"ny", Size{512}}});
  EXPECT_EQ(other.find("nx"), first.find("nx")) << "of another case";
  EXPECT_NE(other.find("ny"), first.find("nx")) << "of another axis";
  EXPECT_NE(other.find("mode"), first.find("mode"));
  other.set("mode", std::string("edge"));
  EXPECT_EQ(other.find("mode"), first.find("mode"));
  EXPECT_FALSE(other == first);
}

TEST(Parameters, OfWordsHaveNoIntegers) {
  EXPECT_EQ(choice_axes(example()), Parameters({{"mode", std::string("edge")}}));
  EXPECT_EQ(choice_axes({}), Parameters{});
}

TEST(Parameters, AreWrittenAsText) {
  EXPECT_EQ(to_text(Size{-3}), "-3");
  EXPECT_EQ(to_text(Size{4'294'967'296}), "4294967296");
  EXPECT_EQ(to_text(std::string("edge")), "edge");
}

TEST(Parameters, TheLargestAxisIsNamed) {
  const Parameters parameters({{"dtype", std::string("f32")}, {"n", Size{2}}, {"nx", Size{512}}});
  EXPECT_EQ(largest_axis_note(parameters), "; the largest axis is nx = 512");
  EXPECT_EQ(largest_axis_note(Parameters({{"dtype", std::string("f32")}})), "");
}

}  // namespace
}  // namespace peakmark
