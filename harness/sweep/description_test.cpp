#include "sweep/description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "sweep/example_description.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const Description kDescription = example_description();

const AxisDescription& axis(const char* variant, const char* name) {
  return *kDescription.variant(variant)->axis(name);
}

auto reading(const AxisDescription& axis, std::string text) {
  return [&axis, text] { (void)parse_axis_value(axis, text); };
}

TEST(Description, FindsVariantsAndAxes) {
  EXPECT_EQ(kDescription.variant("padding/coords1d")->name, "padding/coords1d");
  EXPECT_EQ(kDescription.variant("padding"), nullptr);
  EXPECT_EQ(kDescription.variant("padding/coords1d")->axis("nz"), nullptr);
  EXPECT_THAT(kDescription.variant("vertical_shift/fused")->axis_names(),
              ElementsAre("n_a", "n_z", "nx", "shift", "origin"));
  EXPECT_EQ(kDescription.variant("padding/coords1d")->defaults().word("mode"), "constant");
  EXPECT_EQ(kDescription.variant("padding/coords1d")->defaults().integer("n"), 20);
}

TEST(AxisValue, IsReadByTheTypeOfItsAxis) {
  EXPECT_EQ(parse_axis_value(axis("padding/coords1d", "nx"), "4294967296"), AxisValue(Size{4'294'967'296}));
  EXPECT_EQ(parse_axis_value(axis("padding/coords1d", "pad_x0"), "0"), AxisValue(Size{0}));
  EXPECT_EQ(parse_axis_value(axis("vertical_shift/fused", "origin"), "-100"), AxisValue(Size{-100}));
  EXPECT_EQ(parse_axis_value(axis("vertical_shift/fused", "shift"), "8"), AxisValue(std::string("8")));
}

TEST(AxisValue, IsRefusedWithTheReason) {
  const AxisDescription& nx = axis("padding/coords1d", "nx");
  EXPECT_THAT(reading(nx, "wide"),
              ThrowsMessage<UsageError>(HasSubstr("'nx' is an integer, 'wide' is none")));
  EXPECT_THAT(reading(nx, "51.5"), ThrowsMessage<UsageError>(HasSubstr("'51.5' is none")));
  EXPECT_THAT(reading(nx, ""), ThrowsMessage<UsageError>(HasSubstr("'' is none")));
  EXPECT_THAT(reading(nx, "9223372036854775808"),
              ThrowsMessage<OverflowError>(HasSubstr("does not fit 64 bits")));
  EXPECT_THAT(reading(nx, "0"), ThrowsMessage<UsageError>(HasSubstr("at least 1, not 0")));
  EXPECT_THAT(reading(axis("padding/coords1d", "mode"), "egde"),
              ThrowsMessage<UsageError>(HasSubstr("no word 'egde'; did you mean 'edge'?")));
  const AxisDescription& shift = axis("vertical_shift/fused", "shift");
  EXPECT_THAT(reading(shift, ""), ThrowsMessage<UsageError>(HasSubstr("empty")));
  for (const char* word : {"a/b", "a:b", "a b", "a\nb"}) {
    EXPECT_THAT(reading(shift, word), ThrowsMessage<UsageError>(HasSubstr("cannot hold"))) << word;
  }
  EXPECT_THAT([&] { check_axis_value(nx, std::string("edge")); },
              ThrowsMessage<UsageError>(HasSubstr("'nx' is an integer, 'edge' is none")));
  EXPECT_THAT([&] { check_axis_value(shift, Size{8}); },
              ThrowsMessage<UsageError>(HasSubstr("'shift' is a word, '8' is none")));
}

}  // namespace
}  // namespace peakmark
