#include "measure/sweep/typed_axes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

using Texts = std::vector<std::string>;

/// Returns the values of one axis as text.
Texts values(const std::string& text) {
  Texts all;
  const std::vector<AxisValues> axes = parse_typed_axes({text});
  for (const Located<AxisValue>& value : axes.front().values) all.push_back(to_text(value.value));
  return all;
}

Suite expand(const std::string& toml, const Texts& variants, const Texts& axes) {
  std::vector<SuiteDocument> documents;
  if (!toml.empty()) documents.push_back(parse_suite_document(toml, "s.toml"));
  return expand_suites(documents, example_description(), {"dry", std::nullopt, variants, axes});
}

Texts names(const std::string& toml, const Texts& variants, const Texts& axes) {
  Texts all;
  for (const PlannedCase& planned : expand(toml, variants, axes).cases) all.push_back(planned.name);
  return all;
}

TEST(TypedAxes, AreListsAndRanges) {
  EXPECT_THAT(values("nx=4096"), ElementsAre("4096"));
  EXPECT_THAT(values("mode=edge,wrap"), ElementsAre("edge", "wrap"));
  EXPECT_THAT(values("n=4..7"), ElementsAre("4", "5", "6", "7"));
  EXPECT_THAT(values("n=1,10..40:15,64"), ElementsAre("1", "10", "25", "40", "64"));
  EXPECT_THAT(values("origin=-2..0"), ElementsAre("-2", "-1", "0"));
  EXPECT_THAT(values("n=9223372036854775806..9223372036854775807"),
              ElementsAre("9223372036854775806", "9223372036854775807"));
}

TEST(TypedAxes, AreRefusedWithTheWord) {
  const auto refused = [](const Texts& texts, const char* what) {
    EXPECT_THAT([&] { (void)parse_typed_axes(texts); },
                ThrowsMessage<UsageError>(testing::AllOf(StartsWith(texts.back()), HasSubstr(what))))
        << texts.back();
  };
  refused({"nx="}, "an empty value: write AXIS=VALUE,VALUE…");
  refused({"nx=4,,8"}, "an empty value");
  refused({"nx=8..4"}, "'8..4' is not a range");
  refused({"nx=1..8:0"}, "'1..8:0' is not a range");
  refused({"sigma=0.5..2"}, "'0.5..2': a range of floating-point numbers needs a step: sigma=0.5..2.0:0.1");
  refused({"sigma=1..2.5:"}, "needs a step: sigma=1.0..2.5:0.1");
  refused({"nx"}, "an axis without values: write AXIS=VALUE");
  refused({"nx=8,4,8"}, "8 is written twice");
  refused({"nx=1", "nx=2"}, "the axis 'nx' is written twice");
  refused({"nx=1..9223372036854775807"}, "range of more than 2000000 values");
  refused({"nx=-9223372036854775807..9223372036854775807"}, "range of more than");
}

TEST(TypedAxes, VariantsNeedNoSuite) {
  EXPECT_THAT(names("", {"padding/computed"}, {"nx=8,16", "mode=edge"}),
              ElementsAre("padding/computed/dry/mode:edge/nx:8", "padding/computed/dry/mode:edge/nx:16"));
  EXPECT_THAT(names("", {"padding/coords*"}, {}),
              ElementsAre("padding/coords2d/dry", "padding/coords1d/dry"));
  const Suite suite = expand("", {"padding/computed", "vertical_shift/fused"}, {"nx=8"});
  EXPECT_EQ(suite.name, "padding/computed+vertical_shift/fused nx=8");
  EXPECT_EQ(suite.cases.size(), 2U);
  EXPECT_EQ(suite.cases.front().place, "the command line");
}

TEST(TypedAxes, VariantsReplaceTheSweepsOfASuite) {
  const std::string toml = "[[sweep]]\nvariants = 'padding/coords1d'\naxes.n = [1, 2]\n";
  EXPECT_THAT(names(toml, {"padding/computed"}, {"n=3"}), ElementsAre("padding/computed/dry/n:3"));
}

TEST(TypedAxes, ReplaceValuesAndFormulasOfSweepsThatHaveThem) {
  const std::string toml = R"(
[[sweep]]
variants = "padding/computed"
axes.n = [1, 2]
axes.ny = { formula = "nx" }
axes.nx = [4, 8]
[[sweep]]
variants = "vertical_shift/fused"
axes.n_a = 3
)";
  EXPECT_THAT(names(toml, {}, {"n=7", "nx=16"}),
              ElementsAre("padding/computed/dry/n:7/ny:16/nx:16", "vertical_shift/fused/dry/n_a:3/nx:16"));
  EXPECT_THAT(names(toml, {}, {"ny=5", "n=7"}),
              ElementsAre("padding/computed/dry/n:7/ny:5/nx:4", "padding/computed/dry/n:7/ny:5/nx:8",
                          "vertical_shift/fused/dry/n_a:3"));
  EXPECT_EQ(expand(toml, {}, {"n=7"}).name, "s n=7");
  EXPECT_NE(expand(toml, {}, {"n=7"}).fingerprint, expand(toml, {}, {}).fingerprint);
}

TEST(TypedAxes, ReplaceAllOfAGroupOrNone) {
  const std::string toml = "[[sweep]]\nvariants = 'padding/computed'\nzip = [{ ny = [1, 2], nx = [3, 4] }]\n";
  EXPECT_THAT(names(toml, {}, {"nx=5,6"}),
              ElementsAre("padding/computed/dry/ny:1/nx:5", "padding/computed/dry/ny:2/nx:6"));
  EXPECT_THAT(names(toml, {}, {"nx=5", "ny=6"}), ElementsAre("padding/computed/dry/ny:6/nx:5"));
  EXPECT_THAT([&] { (void)names(toml, {}, {"nx=5"}); },
              ThrowsMessage<UsageError>("nx=5: 2 values of 'ny' and 1 of 'nx', which are zipped in s.toml:1: "
                                        "write as many values of each"));
}

TEST(TypedAxes, AWordMayLookLikeANumber) {
  EXPECT_THAT(names("", {"vertical_shift/fused"}, {"shift=7,a..b,0.5"}),
              ElementsAre("vertical_shift/fused/dry/shift:7", "vertical_shift/fused/dry/shift:a..b",
                          "vertical_shift/fused/dry/shift:0.5"));
}

TEST(TypedAxes, ARuleMayThenMatchNothing) {
  const std::string toml = R"(
[[sweep]]
variants = "padding/computed"
axes.n = [1, 2]
[[sweep.rule]]
when = { n = 1 }
window = "0:1"
)";
  EXPECT_THAT(names(toml, {}, {"n=7"}), ElementsAre("padding/computed/dry/n:7"));
}

TEST(TypedAxes, ThatNothingHasAreRefused) {
  const std::string toml = "[[sweep]]\nvariants = ['padding/computed', 'vertical_shift/fused']\n";
  const auto refused = [&](const Texts& variants, const Texts& axes, const char* what) {
    EXPECT_THAT([&] { (void)names(variants.empty() ? toml : "", variants, axes); },
                ThrowsMessage<UsageError>(HasSubstr(what)));
  };
  refused({}, {"nxx=4"}, "nxx=4: no sweep has the axis 'nxx' in all its variants; did you mean 'nx'?");
  refused({}, {"ny=4"}, "ny=4: no sweep has the axis 'ny' in all its variants");
  refused({"padding/computed"}, {"nxx=4"}, "nxx=4: padding/computed has no axis 'nxx'; did you mean 'nx'?");
  refused({"padding/computed"}, {"nx=0"}, "nx=0: ");
  refused({"padding/computed"}, {"nx=4,0.5"}, "nx=4,0.5: ");
  refused({"padding/computed"}, {"nx=1..2..3"}, "nx=1..2..3: ");
  refused({"padding/computed"}, {"nx=..8"}, "nx=..8: ");
  refused({"padding/computed", "padding/*"}, {}, "'padding/*' names padding/computed again; name it once");
  refused({"padding/computed"}, {"mode=egde"}, "mode=egde: ");
  refused({"padding/computd"}, {}, "unknown variant 'padding/computd'; did you mean 'padding/computed'?");
}

}  // namespace
}  // namespace peakmark
