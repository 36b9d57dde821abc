#include "measure/sweep/description.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.hpp"
#include "measure/sweep/sample_description.hpp"

namespace peakmark {

namespace {

using testing::AllOf;
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

// Rules of a suite have these keys for the variant and the backend of a case.
TEST(Description, AnAxisHasNoNameThatRulesUse) {
  VariantDescription variant = kDescription.variants.front();
  for (const char* const name : {"variant", "backend"}) {
    variant.axes.front().name = name;
    EXPECT_THAT([&] { check_variant(variant); },
                ThrowsMessage<UsageError>(HasSubstr("reserved name '" + std::string(name) + "'")));
  }
}

TEST(AxisValue, IsReadByTheTypeOfItsAxis) {
  EXPECT_EQ(parse_axis_value(axis("padding/coords1d", "nx"), "4294967296"), AxisValue(Size{4'294'967'296}));
  EXPECT_EQ(parse_axis_value(axis("padding/coords1d", "pad_x0"), "0"), AxisValue(Size{0}));
  EXPECT_EQ(parse_axis_value(axis("vertical_shift/fused", "origin"), "-100"), AxisValue(Size{-100}));
  EXPECT_EQ(parse_axis_value(axis("vertical_shift/fused", "shift"), "8"), AxisValue(std::string("8")));
}

TEST(AxisValue, IsRefusedWithTheReason) {
  const AxisDescription& nx = axis("padding/coords1d", "nx");
  EXPECT_THAT(reading(nx, "wide"), ThrowsMessage<UsageError>(HasSubstr("'nx' is an integer: 'wide' is not")));
  EXPECT_THAT(reading(nx, "51.5"), ThrowsMessage<UsageError>(HasSubstr("'51.5' is not")));
  EXPECT_THAT(reading(nx, ""), ThrowsMessage<UsageError>(HasSubstr("'' is not")));
  EXPECT_THAT(reading(nx, "9223372036854775808"),
              ThrowsMessage<OverflowError>(HasSubstr("does not fit 64 bits")));
  EXPECT_THAT(reading(nx, "0"), ThrowsMessage<UsageError>(HasSubstr("at least 1, not 0")));
  EXPECT_THAT(
      reading(axis("padding/coords1d", "mode"), "egde"),
      ThrowsMessage<UsageError>(HasSubstr("unknown word of axis 'mode': 'egde'; did you mean 'edge'?")));
  const AxisDescription& shift = axis("vertical_shift/fused", "shift");
  EXPECT_THAT(reading(shift, ""), ThrowsMessage<UsageError>(HasSubstr("empty")));
  for (const char* word : {"a/b", "a:b", "a b", "a\nb"}) {
    EXPECT_THAT(reading(shift, word), ThrowsMessage<UsageError>(HasSubstr("cannot contain"))) << word;
  }
  EXPECT_THAT([&] { check_axis_value(nx, std::string("edge")); },
              ThrowsMessage<UsageError>(HasSubstr("'nx' is an integer: 'edge' is not")));
  EXPECT_THAT([&] { check_axis_value(shift, Size{8}); },
              ThrowsMessage<UsageError>(HasSubstr("'shift' is a word: '8' is not")));
}

}  // namespace

namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

const Description kExample = example_description();

std::string round_trip(const std::string& name) {
  const SweepCase sweep_case = parse_case(name, kExample);
  return case_name(sweep_case, *kExample.variant(sweep_case.variant));
}

auto parsing(std::string name) {
  return [name] { (void)parse_case(name, kExample); };
}

TEST(AxisValues, AreTakenFromTexts) {
  VariantDescription variant;
  variant.name = "padding/coords1d";
  variant.axes = {{"n", Size{1}, {}, 1, ""}, {"mode", std::string("edge"), {"edge", "wrap"}, 0, ""}};
  const auto taking = [&](const std::vector<std::string>& texts) {
    return [&variant, texts] { (void)parse_parameters(variant, texts); };
  };
  const Parameters parameters = parse_parameters(variant, {"mode=wrap", "n=20"});
  EXPECT_EQ(parameters.integer("n"), 20);
  EXPECT_EQ(parameters.word("mode"), "wrap");
  EXPECT_EQ(parse_parameters(variant, {}).word("mode"), "edge");
  EXPECT_THAT(taking({"mod=wrap"}),
              ThrowsMessage<UsageError>(AllOf(HasSubstr("no axis 'mod'"), HasSubstr("mode"))));
  for (const char* const text : {"n", "=3"})
    EXPECT_THAT(taking({text}), ThrowsMessage<UsageError>(HasSubstr("write AXIS=VALUE, such as ny=4096")));
  EXPECT_THAT(taking({"n=3", "mode=wrap", "n=4"}),
              ThrowsMessage<UsageError>(HasSubstr("axis 'n' is given twice")));
  EXPECT_THROW(parse_parameters(variant, {"n=x"}), UsageError);
}

TEST(CaseName, LeavesOutDefaultsAndKeepsTheOrderOfTheVariant) {
  EXPECT_EQ(round_trip("padding/coords1d/opencl/mode:edge/ny:511/nx:100"),
            "padding/coords1d/opencl/mode:edge/ny:511/nx:100");
  EXPECT_EQ(round_trip("padding/coords1d/opencl/nx:100/n:20/ny:511/mode:edge"),
            "padding/coords1d/opencl/mode:edge/ny:511/nx:100");
  EXPECT_EQ(round_trip("padding/computed/dry"), "padding/computed/dry");
  EXPECT_EQ(round_trip("vertical_shift/fused/auto/origin:-7"), "vertical_shift/fused/auto/origin:-7");
}

TEST(CaseName, ParsesToEveryAxis) {
  const SweepCase sweep_case = parse_case("padding/coords2d/cuda/mode:wrap/pad_x1:4294967296", kExample);
  EXPECT_EQ(sweep_case.variant, "padding/coords2d");
  EXPECT_EQ(sweep_case.backend, "cuda");
  EXPECT_EQ(sweep_case.parameters.values().size(), 9u);
  EXPECT_EQ(sweep_case.parameters.word("mode"), "wrap");
  EXPECT_EQ(sweep_case.parameters.integer("pad_x1"), 4'294'967'296);
  EXPECT_EQ(sweep_case.parameters.integer("n"), 20);
}

TEST(CaseName, OfRandomCasesParsesBack) {
  std::mt19937_64 random(3);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int i = 0; i < 2000; ++i) {
    const VariantDescription& variant = kExample.variants[below(kExample.variants.size())];
    SweepCase sweep_case{variant.name, known_backends()[below(known_backends().size())], variant.defaults()};
    for (const AxisDescription& axis : variant.axes) {
      if (below(2) == 0) continue;
      if (std::holds_alternative<Size>(axis.default_value)) {
        sweep_case.parameters.set(axis.name, axis.min + static_cast<Size>(random() >> (2 + below(60))));
      } else if (axis.choices.empty()) {
        sweep_case.parameters.set(axis.name, "w-._=" + std::to_string(random()));
      } else {
        sweep_case.parameters.set(axis.name, axis.choices[below(axis.choices.size())]);
      }
    }
    const std::string name = case_name(sweep_case, variant);
    EXPECT_EQ(parse_case(name, kExample), sweep_case) << name;
  }
}

TEST(Description, AnUnknownVariantMayBeOfAnotherWorker) {
  Description own = kExample;
  const auto message = [&] {
    try {
      return std::string(own.known_variant("blur/separable").name);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(message(), testing::EndsWith("; name your own worker with --worker PROGRAM"));
  own.api = "1.0";
  EXPECT_THAT(message(), testing::Not(HasSubstr("--worker")));
}

TEST(CaseName, MistakesAreNamedWithTheNearestWord) {
  EXPECT_THAT(parsing("padding/coord1d/opencl"),
              ThrowsMessage<UsageError>(
                  HasSubstr("unknown variant 'padding/coord1d'; did you mean 'padding/coords")));
  EXPECT_THAT(parsing("padding/coords1d/opncl"),
              ThrowsMessage<UsageError>(HasSubstr("unknown backend 'opncl'; did you mean 'opencl'?")));
  EXPECT_THAT(parsing("padding/coords1d/n:20"),
              ThrowsMessage<UsageError>(HasSubstr("no backend: write 'padding/coords1d/BACKEND'")));
  EXPECT_THAT(parsing("padding/coords1d/dry/nxx:20"),
              ThrowsMessage<UsageError>(HasSubstr("has no axis 'nxx'; did you mean 'nx'?")));
  EXPECT_THAT(
      parsing("padding/coords1d/dry/mode:egde"),
      ThrowsMessage<UsageError>(HasSubstr("unknown word of axis 'mode': 'egde'; did you mean 'edge'?")));
  EXPECT_THAT(parsing("padding/coords1d/dry/nx:wide"),
              ThrowsMessage<UsageError>(HasSubstr("'nx' is an integer: 'wide' is not")));
  EXPECT_THAT(parsing("padding/coords1d/dry/nx:-5"),
              ThrowsMessage<UsageError>(HasSubstr("at least 1, not -5")));
  EXPECT_THAT(parsing("padding/coords1d/dry/nx:99999999999999999999"),
              ThrowsMessage<UsageError>(HasSubstr("does not fit 64 bits")));
  EXPECT_THAT(parsing("padding/coords1d/dry/nx:5/nx:5"),
              ThrowsMessage<UsageError>(HasSubstr("duplicate axis 'nx'")));
  EXPECT_THAT(parsing("padding/coords1d/dry/nx:5/wide"),
              ThrowsMessage<UsageError>(HasSubstr("malformed axis 'wide': write axis:value")));
  EXPECT_THAT(parsing("padding/coords1d/dry/"), ThrowsMessage<UsageError>(HasSubstr("unknown variant")));
  EXPECT_THAT(parsing(""), ThrowsMessage<UsageError>(HasSubstr("unknown variant ''")));
  EXPECT_THAT(parsing("n:20"), ThrowsMessage<UsageError>(HasSubstr("unknown variant ''")));
  EXPECT_THAT(parsing("padding"), ThrowsMessage<UsageError>(HasSubstr("case 'padding': unknown variant")));
}

TEST(CaseName, IsRefusedForACaseThatDoesNotFitItsVariant) {
  const VariantDescription& padding = *kExample.variant("padding/coords1d");
  SweepCase sweep_case{padding.name, "dry", padding.defaults()};
  sweep_case.parameters.set("nz", Size{3});
  EXPECT_THAT([&] { (void)case_name(sweep_case, padding); },
              ThrowsMessage<UsageError>(HasSubstr("has no axis 'nz'")));
  sweep_case.parameters = Parameters({{"n", Size{3}}});
  EXPECT_THAT([&] { (void)case_name(sweep_case, padding); },
              ThrowsMessage<UsageError>(HasSubstr("has no value for axis 'mode'")));
  sweep_case.parameters = padding.defaults();
  sweep_case.parameters.set("mode", std::string("a/b"));
  EXPECT_THROW((void)case_name(sweep_case, padding), UsageError);
}

}  // namespace

}  // namespace peakmark
