#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Texts = std::vector<std::string>;

/// A program with axes of each type, and the beginning of its sweep, in lines 1 to 9.
const std::string kBlur = R"([[program]]
variant = "blur/one"
command = ["./blur", "{sigma}", "{radius}"]
axes.mode = { default = "edge", choices = ["edge", "wrap"] }
axes.sigma = 1.0
axes.scale = 2.5
axes.radius = { default = 3, min = 1 }
[[sweep]]
variants = "blur/one"
)";

Suite expand_blur(const std::string& sweep, const Texts& axes = {}) {
  return expand_suites({parse_suite_document(kBlur + sweep, "s.toml")}, example_description(),
                       {"opencl", std::nullopt, {}, axes});
}

/// Returns the names without the variant and the backend.
Texts blur_names(const std::string& sweep, const Texts& axes = {}) {
  constexpr std::string_view kBegin = "blur/one/opencl";
  Texts all;
  for (const PlannedCase& planned : expand_blur(sweep, axes).cases)
    all.push_back(planned.name.substr(std::min(planned.name.size(), kBegin.size() + 1)));
  return all;
}

auto expanding_blur(const std::string& sweep, const Texts& axes = {}) {
  return [sweep, axes] { (void)expand_blur(sweep, axes); };
}

// The expected texts are those of Python's repr().
TEST(FloatAxis, IsWrittenAsTheShortestTextThatReadsBack) {
  const std::pair<double, const char*> texts[] = {{1, "1.0"},
                                                  {0.5, "0.5"},
                                                  {0.1, "0.1"},
                                                  {0.1 + 0.2, "0.30000000000000004"},
                                                  {-2.5, "-2.5"},
                                                  {100000, "100000.0"},
                                                  {1e15, "1000000000000000.0"},
                                                  {1e16, "1e+16"},
                                                  {1e22, "1e+22"},
                                                  {0.0001, "0.0001"},
                                                  {0.00001, "1e-05"},
                                                  {5e-324, "5e-324"},
                                                  {1.7976931348623157e308, "1.7976931348623157e+308"}};
  for (const auto& [number, text] : texts) {
    EXPECT_EQ(float_text(number), text);
    EXPECT_EQ(parse_float(text), number);
  }
  EXPECT_EQ(float_text(*parse_float("-0.0")), "0.0");
  for (const char* const text : {"", "nan", "inf", "1e400", "0.1 + 0.2", "1.0x", " 1"})
    EXPECT_FALSE(parse_float(text)) << text;
}

TEST(FloatAxis, HasNumbersFromASuite) {
  EXPECT_THAT(blur_names("axes.sigma = [0.5, 1.0, 1.5, 2]"),
              ElementsAre("sigma:0.5", "", "sigma:1.5", "sigma:2.0"));
  EXPECT_THAT(blur_names("axes.sigma = 5e-1"), ElementsAre("sigma:0.5"));
  EXPECT_THAT(blur_names("zip = [{ sigma = [0.5, 1.5], scale = [1, 2] }]"),
              ElementsAre("sigma:0.5/scale:1.0", "sigma:1.5/scale:2.0"));
  EXPECT_EQ(expand_blur("axes.sigma = 2").cases[0].sweep_case.parameters,
            Parameters({{"mode", "edge"}, {"sigma", 2.0}, {"scale", 2.5}, {"radius", Size{3}}}));
}

TEST(FloatAxis, ARangeHasTheDecimalsOfItsStep) {
  EXPECT_THAT(blur_names("axes.sigma = { from = 0.1, to = 0.5, step = 0.1 }"),
              ElementsAre("sigma:0.1", "sigma:0.2", "sigma:0.3", "sigma:0.4", "sigma:0.5"));
  EXPECT_THAT(blur_names("axes.sigma = { from = 1, to = 2, step = 0.5 }"),
              ElementsAre("", "sigma:1.5", "sigma:2.0"));
  EXPECT_THAT(blur_names("", {"sigma=0.05..0.2:0.05"}),
              ElementsAre("sigma:0.05", "sigma:0.1", "sigma:0.15", "sigma:0.2"));
  EXPECT_THAT(blur_names("", {"sigma=1..3"}), ElementsAre("", "sigma:2.0", "sigma:3.0"));
  EXPECT_THAT(blur_names("", {"sigma=1e-9..3e-9:1e-9"}),
              ElementsAre("sigma:1e-09", "sigma:2e-09", "sigma:3e-09"));
}

TEST(FloatAxis, HasNumbersFromTheCommandLine) {
  EXPECT_THAT(blur_names("", {"sigma=0.5,2,1e1"}), ElementsAre("sigma:0.5", "sigma:2.0", "sigma:10.0"));
  EXPECT_THAT(blur_names("axes.sigma = { formula = 'radius / 3.0' }\n", {"sigma=0.5"}),
              ElementsAre("sigma:0.5"));
}

TEST(FloatAxis, IsReadFromTheNameOfACase) {
  const Suite suite = expand_blur("axes.sigma = [0.1, 1e22]");
  for (const PlannedCase& planned : suite.cases)
    EXPECT_EQ(parse_case(planned.name, suite.vocabulary.description), planned.sweep_case) << planned.name;
  EXPECT_EQ(parse_case("blur/one/opencl/sigma:5e-1", suite.vocabulary.description).parameters.number("sigma"),
            Number(0.5));
}

TEST(FloatAxis, IsReadByFormulas) {
  EXPECT_THAT(blur_names("axes.sigma = [0.5, 1.5]\naxes.radius = { formula = 'ceil(3 * sigma)' }"),
              ElementsAre("sigma:0.5/radius:2", "sigma:1.5/radius:5"));
  EXPECT_THAT(blur_names("axes.sigma = 0.5\naxes.radius = { formula = 'floor(5 * sigma) + round(sigma)' }"),
              ElementsAre("sigma:0.5"));  // 2 + 1, the default
  EXPECT_THAT(blur_names("axes.radius = [3, 7]\naxes.sigma = { formula = 'radius / 2.0' }"),
              ElementsAre("sigma:1.5", "sigma:3.5/radius:7"));
  EXPECT_THAT(blur_names("axes.radius = 7\naxes.sigma = { formula = 'radius / 2' }"),
              ElementsAre("sigma:3.0/radius:7"))
      << "integers are divided as integers";
}

TEST(FloatAxis, RulesChooseItsValues) {
  const Suite suite = expand_blur(
      "axes.sigma = [0.5, 2.0]\n[[sweep.rule]]\nwhen = { sigma = 2 }\nwindow = '0.5:1'\n"
      "[[sweep.rule]]\nwhen = { sigma = [0.5] }\nexpect = 'timeout'\n");
  EXPECT_EQ(suite.cases[0].expected_outcome, "timeout");
  EXPECT_EQ(suite.cases[1].expected_outcome, "ok");
  EXPECT_EQ(suite.cases[1].window.lo, 0.5);
}

TEST(FloatAxis, ProgramsGetTheTextOfTheName) {
  const Suite suite = expand_blur("axes.sigma = 2");
  EXPECT_THAT(make_command(*suite.vocabulary.program("blur/one"), suite.cases[0].sweep_case.parameters, {}),
              ElementsAre("./blur", "2.0", "3"));
}

TEST(FloatAxis, MistakesInASuiteNameFileLineAndKey) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"axes.sigma = nan", "s.toml:10: axes.sigma: axis 'sigma' must be a finite number, not nan"},
      {"axes.sigma = [0.5, -inf]", "s.toml:10: axes.sigma: axis 'sigma' must be a finite number, not -inf"},
      {"axes.sigma = 'wide'",
       "s.toml:10: axes.sigma: axis 'sigma' is a floating-point number: 'wide' is not"},
      {"axes.radius = 1.5", "s.toml:10: axes.radius: axis 'radius' is an integer: '1.5' is not"},
      {"axes.radius = 2.0", "s.toml:10: axes.radius: axis 'radius' is an integer: '2.0' is not"},
      {"axes.mode = 0.5", "s.toml:10: axes.mode: axis 'mode' is a word: '0.5' is not"},
      {"axes.sigma = [0.5, 5e-1]", "s.toml:8: sweep: duplicate case blur/one/auto/sigma:0.5"},
      {"axes.sigma = { from = 0.5, to = 2 }",
       "s.toml:10: axes.sigma: a range of floating-point numbers needs a finite number as 'step'"},
      {"axes.sigma = { from = 0.5, to = 2, step = 0.0 }",
       "s.toml:10: axes.sigma: step must be above 0, not 0.0"},
      {"axes.sigma = { from = 2.5, to = 2, step = 1 }", "s.toml:10: axes.sigma: empty range: 2.5 to 2.0"},
      {"axes.sigma = { from = 0.0, to = 1, step = 1e-9 }",
       "s.toml:10: axes.sigma: range of more than 2000000 values"},
      {"axes.sigma = { from = 0.0, to = 1, step = inf }",
       "s.toml:10: axes.sigma: a range of floating-point numbers needs a finite number as 'step'"},
      {"axes.radius = { formula = '3 * sigma' }",
       "s.toml:10: axes.radius: formula '3 * sigma' is 3.0, not an integer: write ceil(…), floor(…) or "
       "round(…)"},
      {"axes.radius = { formula = 'pow2(sigma)' }",
       "s.toml:10: axes.radius: formula 'pow2(sigma)', column 1: this operation needs integers: write "
       "ceil(…)"},
      {"axes.radius = { formula = 'ceil(sigma / (scale - 2.5))' }",
       "s.toml:10: axes.radius: formula 'ceil(sigma / (scale - 2.5))', column 12: 1.0 / 0 has no value"},
      {"axes.radius = { formula = 'ceil(1e300 * sigma)' }",
       "s.toml:10: axes.radius: formula 'ceil(1e300 * sigma)', column 1: 1e+300 does not fit 64 bits"},
      {"axes.sigma = { formula = '1e300 * 1e300' }",
       "s.toml:10: axes.sigma: formula '1e300 * 1e300', column 7: the value does not fit a floating-point "
       "number"},
      {"axes.sigma = { formula = '1e400' }",
       "s.toml:10: axes.sigma: formula '1e400', column 1: the number does not"},
      {"axes.radius = { formula = 'ceil(mode)' }",
       "s.toml:10: axes.radius: axis 'mode' of blur/one is a word: formulas need numbers"},
  };
  for (const auto& [sweep, message] : mistakes)
    EXPECT_THAT(expanding_blur(sweep), ThrowsMessage<UsageError>(testing::StartsWith(message))) << sweep;
}

TEST(FloatAxis, TomlRefusesANumberThatDoesNotFit) {
  EXPECT_THAT(expanding_blur("axes.sigma = 1e400"),
              ThrowsMessage<UsageError>(HasSubstr("s.toml:10:19: Error while parsing floating-point")));
}

TEST(FloatAxis, MistakesOnTheCommandLineNameTheWord) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"sigma=nan", "sigma=nan: axis 'sigma' is a floating-point number: 'nan' is not"},
      {"sigma=inf", "sigma=inf: axis 'sigma' is a floating-point number: 'inf' is not"},
      {"sigma=0.1+0.2", "sigma=0.1+0.2: axis 'sigma' is a floating-point number: '0.1+0.2' is not"},
      {"sigma=1e400", "sigma=1e400: axis 'sigma': 1e400 does not fit a floating-point number of 64 bits"},
      {"sigma=0.5,5e-1", "sigma=0.5,5e-1: 0.5 is written twice"},
      {"sigma=1,1.0", "sigma=1,1.0: 1.0 is written twice"},
      {"sigma=0.5..2",
       "sigma=0.5..2: '0.5..2': a range of floating-point numbers needs a step: sigma=0.5..2.0:0.1"},
      {"sigma=2..1:0.5", "sigma=2..1:0.5: empty range: 2.0 to 1.0"},
      {"sigma=0..1:1e-9", "sigma=0..1:1e-9: range of more than 2000000 values"},
      {"radius=1.5", "radius=1.5: axis 'radius' is an integer: '1.5' is not"},
      {"radius=1..2:0.5", "radius=1..2:0.5: axis 'radius' is an integer: '1.0' is not"},
  };
  for (const auto& [axis, message] : mistakes)
    EXPECT_THAT(expanding_blur("", {axis}), ThrowsMessage<UsageError>(message)) << axis;
}

TEST(FloatAxis, OfAProgramHasNoLimits) {
  for (const char* const limit : {"min = 1", "choices = ['a']"}) {
    std::string text = kBlur;
    text.replace(text.find("sigma = 1.0"), 11, std::string("sigma = { default = 1.0, ") + limit + " }");
    EXPECT_THAT(
        [&] { (void)parse_suite_document(text, "s.toml"); },
        ThrowsMessage<UsageError>("s.toml:5: axes.sigma: a floating-point axis has neither min nor choices"));
  }
}

}  // namespace
}  // namespace peakmark
