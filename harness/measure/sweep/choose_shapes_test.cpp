#include "measure/sweep/choose_shapes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "measure/sweep/sample_description.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

const VariantDescription& padding() {
  static const Description description = example_description();
  return description.variants.front();
}

std::vector<Parameters> fitted(ShapeChooser& chooser, std::size_t count) {
  std::vector<Parameters> shapes;
  while (shapes.size() < count) {
    auto one = chooser.next_fitted();
    if (!one) break;
    shapes.push_back(std::move(*one));
  }
  return shapes;
}

std::vector<std::string> changed_axes(const Parameters& base, const Parameters& shape) {
  std::vector<std::string> axes;
  for (const auto& [name, value] : shape.values()) {
    if (*base.find(name) != value) axes.push_back(name);
  }
  return axes;
}

TEST(WordSets, AreAllCombinationsTheDefaultsFirst) {
  const std::vector<Parameters> sets = word_sets(padding());
  EXPECT_THAT(sets, SizeIs(10)) << "5 modes, 2 dtypes";
  EXPECT_THAT(sets.front().values(), ElementsAre(Pair("mode", AxisValue(std::string("constant"))),
                                                 Pair("dtype", AxisValue(std::string("f32")))));
  VariantDescription plain;
  plain.axes = {{"n", Size{4}, {}, 1, ""}};
  EXPECT_THAT(word_sets(plain), SizeIs(1));
}

TEST(ShapeChooser, TheFirstBaseHasSmallCoprimeLengthsInTheOrderOfTheDefaults) {
  const ShapeChooser chooser(padding(), word_sets(padding()).front());
  const Parameters& base = chooser.bases().front();
  const std::vector<std::string> axes{"n", "ny", "nx", "pad_y0", "pad_y1", "pad_x0", "pad_x1"};
  for (const std::string& a : axes) {
    EXPECT_LE(base.integer(a), 50) << a;
    for (const std::string& b : axes) {
      if (a == b) continue;
      EXPECT_EQ(std::gcd(base.integer(a), base.integer(b)), 1) << a << ", " << b;
    }
  }
  for (const char* const pad : {"pad_y0", "pad_y1", "pad_x0", "pad_x1"})
    EXPECT_LT(base.integer(pad), base.integer("ny"));
  EXPECT_EQ(chooser.bases().back(), padding().defaults());
}

TEST(ShapeChooser, VariesOneAxisAtATimeThenTwo) {
  ShapeChooser chooser(padding(), word_sets(padding())[1]);
  const Parameters base = chooser.bases().front();
  chooser.set_base(base);
  const std::vector<Parameters> shapes = fitted(chooser, 33);
  ASSERT_THAT(shapes, SizeIs(33));
  for (std::size_t i = 0; i < 21; ++i) EXPECT_THAT(changed_axes(base, shapes[i]), SizeIs(1)) << i;
  for (std::size_t i = 21; i < 33; ++i) EXPECT_THAT(changed_axes(base, shapes[i]), SizeIs(2)) << i;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(shapes[i].word("mode"), base.word("mode"));
    for (std::size_t j = i + 1; j < shapes.size(); ++j) EXPECT_NE(shapes[i], shapes[j]);
  }
}

TEST(WordSets, ManyWordsVaryOneAxisAtATime) {
  VariantDescription variant;
  const std::vector<std::string> words{"a", "b", "c", "d", "e"};
  for (const char* const axis : {"one", "two", "three"})
    variant.axes.push_back({axis, std::string("a"), words, 0, ""});
  EXPECT_THAT(word_sets(variant), SizeIs(1 + 3 * 4)) << "not 125";
}

// An image and a region of it: `h` = 0 means the whole image, and then `y0` is 0.
TEST(ShapeChooser, FindsABaseWithARegionInsideTheImage) {
  VariantDescription variant;
  variant.axes = {{"ny", Size{512}, {}, 1, ""},
                  {"y0", Size{0}, {}, 0, ""},
                  {"h", Size{0}, {}, 0, ""},
                  {"flag", Size{0}, {}, 0, ""}};
  const auto is_accepted = [](const Parameters& shape) {
    const Size h = shape.integer("h") == 0 ? shape.integer("ny") : shape.integer("h");
    return shape.integer("y0") + h <= shape.integer("ny") && shape.integer("flag") <= 1;
  };
  ShapeChooser chooser(variant, {});
  EXPECT_FALSE(is_accepted(chooser.bases().front()));
  int calls = 0;
  chooser.find_base([&](const std::vector<Parameters>& shapes) {
    ++calls;
    std::vector<bool> accepted;
    for (const Parameters& one : shapes) accepted.push_back(is_accepted(one));
    return accepted;
  });
  EXPECT_LE(calls, 5);
  const Parameters base = chooser.bases().front();
  EXPECT_TRUE(is_accepted(base));
  EXPECT_GT(base.integer("y0"), 0);
  EXPECT_GT(base.integer("h"), 0);
  EXPECT_EQ(base.integer("flag"), 0);

  chooser.set_base(base);
  for (int i = 0; i < 30; ++i) {
    const auto shape = chooser.next_fitted();
    if (shape && is_accepted(*shape)) chooser.accept(*shape);
  }
  int flags = 0;
  int accepted = 0;
  for (int i = 0; i < 40; ++i) {
    const Parameters shape = chooser.next_held_out().value();
    EXPECT_LE(shape.integer("flag"), 1) << "other values were not accepted";
    flags += static_cast<int>(shape.integer("flag"));
    accepted += is_accepted(shape) ? 1 : 0;
  }
  EXPECT_GT(flags, 0);
  EXPECT_GT(accepted, 10) << "the others are replaced";
}

TEST(ShapeChooser, ShapesHeldOutVaryAllAxesAndAreNoneOfTheOthers) {
  ShapeChooser chooser(padding(), word_sets(padding()).front());
  const Parameters base = chooser.bases().front();
  chooser.set_base(base);
  const std::vector<Parameters> shapes = fitted(chooser, 40);
  std::vector<Parameters> held_out;
  for (int i = 0; i < 12; ++i) held_out.push_back(chooser.next_held_out().value());
  for (const Parameters& one : held_out) {
    EXPECT_THAT(changed_axes(base, one), SizeIs(testing::Ge(4)));
    EXPECT_EQ(std::ranges::find(shapes, one), shapes.end());
    EXPECT_EQ(std::ranges::count(held_out, one), 1);
  }
  ShapeChooser again(padding(), word_sets(padding()).front());
  again.set_base(base);
  EXPECT_EQ(again.next_held_out(), held_out.front());
}

TEST(ShapeChooser, KeepsToMinimaAndBoundsAndEnds) {
  VariantDescription variant;
  variant.axes = {{"n", Size{4}, {}, 3, ""}, {"order", Size{1}, {}, 0, ""}};
  ShapeChooser chooser(variant, {}, {{"n", {2, 6}}, {"order", {0, 2}}});
  chooser.set_base(chooser.bases().front());
  std::size_t count = 1;
  const auto check = [&](const std::optional<Parameters>& one) {
    if (!one) return false;
    ++count;
    EXPECT_GE(one->integer("n"), 3);
    EXPECT_LE(one->integer("n"), 6);
    EXPECT_LE(one->integer("order"), 2);
    return true;
  };
  while (check(chooser.next_fitted())) continue;
  while (check(chooser.next_held_out())) continue;
  EXPECT_LE(count, 12) << "4 lengths, 3 orders";
}

TEST(ShapeCounts, AQuarterOrMoreIsHeldOut) {
  VariantDescription variant;
  for (int axes = 1; axes < 12; ++axes) {
    variant.axes.push_back({"axis" + std::to_string(axes), Size{4}, {}, 1, ""});
    for (const bool is_program : {false, true}) {
      const ShapeCounts counts = shape_counts(variant, is_program);
      const std::size_t all = counts.fitted + counts.held_out;
      EXPECT_GE(4 * counts.held_out, all);
      EXPECT_LE(all, is_program ? 30 : 50);
      EXPECT_GE(all, is_program ? 12 : 24);
    }
  }
}

TEST(WithHeldOut, IsTheOrderOfExplain) {
  EXPECT_THAT(with_held_out<int>({1, 2, 3, 4, 5, 6}, {10, 20}), ElementsAre(1, 2, 3, 10, 4, 5, 6, 20));
  EXPECT_THAT(with_held_out<int>({1, 2, 3, 4, 5, 6, 7}, {10}), ElementsAre(1, 2, 3, 10, 4, 5, 6));
}

}  // namespace
}  // namespace peakmark
