#include "measure/sweep/suite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Suite expand(std::string_view text, const ExpandOptions& options = {}) {
  return expand_suites({parse_suite_document(text, "example.toml")}, example_description(), options);
}

std::vector<std::string> names(const Suite& suite) {
  std::vector<std::string> all;
  for (const PlannedCase& planned : suite.cases) all.push_back(planned.name);
  return all;
}

const PlannedCase& find(const Suite& suite, std::string_view name) {
  const auto found = std::ranges::find(suite.cases, name, &PlannedCase::name);
  if (found == suite.cases.end()) throw std::runtime_error("no case " + std::string(name));
  return *found;
}

TEST(Suite, ExpandsInTheOrderOfTheFile) {
  EXPECT_THAT(names(expand(R"(
[[sweep]]
variants = ["padding/computed", "padding/coords1d"]
backend = ["opencl", "dry"]
axes.nx = [3, 2]
axes.mode = ["wrap", "edge"]
)")),
              ElementsAre("padding/computed/opencl/mode:wrap/nx:3", "padding/computed/opencl/mode:edge/nx:3",
                          "padding/computed/opencl/mode:wrap/nx:2", "padding/computed/opencl/mode:edge/nx:2",
                          "padding/computed/dry/mode:wrap/nx:3", "padding/computed/dry/mode:edge/nx:3",
                          "padding/computed/dry/mode:wrap/nx:2", "padding/computed/dry/mode:edge/nx:2",
                          "padding/coords1d/opencl/mode:wrap/nx:3", "padding/coords1d/opencl/mode:edge/nx:3",
                          "padding/coords1d/opencl/mode:wrap/nx:2", "padding/coords1d/opencl/mode:edge/nx:2",
                          "padding/coords1d/dry/mode:wrap/nx:3", "padding/coords1d/dry/mode:edge/nx:3",
                          "padding/coords1d/dry/mode:wrap/nx:2", "padding/coords1d/dry/mode:edge/nx:2"));
}

TEST(Suite, KnowsEveryKindOfAxis) {
  const Suite suite = expand(R"(
[[sweep]]
variants = "padding/coords1d"
axes.n = { from = 20, to = 27, step = 5 }
axes.ny = { pow2 = [8, 9] }
axes.pad_y0 = { formula = "ny / 2 + pad_y1" }
axes.pad_y1 = { formula = "n + pad_x0" }
zip = [{ pad_x0 = [0, 3], pad_x1 = [5, 0] }]
)");
  EXPECT_THAT(names(suite), ElementsAre("padding/coords1d/auto/ny:256/pad_y0:148/pad_y1:20/pad_x1:5",
                                        "padding/coords1d/auto/ny:256/pad_y0:151/pad_y1:23/pad_x0:3",
                                        "padding/coords1d/auto/pad_y0:276/pad_y1:20/pad_x1:5",
                                        "padding/coords1d/auto/pad_y0:279/pad_y1:23/pad_x0:3",
                                        "padding/coords1d/auto/n:25/ny:256/pad_y0:153/pad_y1:25/pad_x1:5",
                                        "padding/coords1d/auto/n:25/ny:256/pad_y0:156/pad_y1:28/pad_x0:3",
                                        "padding/coords1d/auto/n:25/pad_y0:281/pad_y1:25/pad_x1:5",
                                        "padding/coords1d/auto/n:25/pad_y0:284/pad_y1:28/pad_x0:3"));
}

TEST(Suite, AxesMayHaveATableOfTheirOwn) {
  const char* dotted = "[[sweep]]\nvariants = 'padding/*'\naxes.nx = [2, 3]\naxes.mode = ['edge', 'wrap']\n";
  const char* header =
      "[[sweep]]\nvariants = 'padding/*'\n[sweep.axes]\nnx = [2, 3]\nmode = ['edge', 'wrap']\n";
  const char* in_line =
      "[[sweep]]\nvariants = 'padding/*'\naxes = { nx = [2, 3], mode = ['edge', 'wrap'] }\n";
  EXPECT_EQ(names(expand(dotted)), names(expand(header)));
  EXPECT_EQ(names(expand(dotted)), names(expand(in_line)));
  EXPECT_EQ(expand(dotted).cases.size(), 12u);
}

TEST(Suite, ZippedAxesStayWhereTheyAreWritten) {
  EXPECT_THAT(names(expand(R"(
[[sweep]]
variants = "padding/coords1d"
zip = [{ ny = [1, 2], nx = [3, 4] }, { pad_y0 = [1, 2], pad_y1 = [3, 4] }]
axes.n = [5, 6]
)")),
              ElementsAre("padding/coords1d/auto/n:5/ny:1/nx:3/pad_y0:1/pad_y1:3",
                          "padding/coords1d/auto/n:6/ny:1/nx:3/pad_y0:1/pad_y1:3",
                          "padding/coords1d/auto/n:5/ny:1/nx:3/pad_y0:2/pad_y1:4",
                          "padding/coords1d/auto/n:6/ny:1/nx:3/pad_y0:2/pad_y1:4",
                          "padding/coords1d/auto/n:5/ny:2/nx:4/pad_y0:1/pad_y1:3",
                          "padding/coords1d/auto/n:6/ny:2/nx:4/pad_y0:1/pad_y1:3",
                          "padding/coords1d/auto/n:5/ny:2/nx:4/pad_y0:2/pad_y1:4",
                          "padding/coords1d/auto/n:6/ny:2/nx:4/pad_y0:2/pad_y1:4"));
}

TEST(Suite, BackendsAreResolvedAndReplaced) {
  const char* text = R"(
backend = "dry"
[[sweep]]
variants = "padding/coords1d"
[[sweep]]
variants = "padding/coords1d"
backend = ["auto", "cuda"]
)";
  EXPECT_THAT(names(expand(text)),
              ElementsAre("padding/coords1d/dry", "padding/coords1d/auto", "padding/coords1d/cuda"));
  EXPECT_THAT(names(expand(text, {"opencl", {}})),
              ElementsAre("padding/coords1d/dry", "padding/coords1d/opencl", "padding/coords1d/cuda"));
  EXPECT_THAT(names(expand(text, {"cuda", {}})),
              ElementsAre("padding/coords1d/dry", "padding/coords1d/cuda"));
  EXPECT_THAT(
      [&] {
        (void)expand(text, {"opencl", "opncl"});
      },
      ThrowsMessage<UsageError>(HasSubstr("--backend opncl: unknown backend; did you mean 'opencl'?")));
}

TEST(Suite, BackendOptionReplacesTheWholeAxis) {
  const char* text =
      "[[sweep]]\nvariants = 'padding/coords1d'\nbackend = ['opencl', 'cuda']\naxes.n = [1, 2]\n";
  EXPECT_THAT(names(expand(text, {"opencl", "dry"})),
              ElementsAre("padding/coords1d/dry/n:1", "padding/coords1d/dry/n:2"));
  EXPECT_THAT(names(expand(text, {"opencl", "auto"})),
              ElementsAre("padding/coords1d/opencl/n:1", "padding/coords1d/opencl/n:2"));
}

TEST(Suite, ExpectationsGetNarrower) {
  const Suite suite = expand(R"(
window = "0.7:1"
[[sweep]]
variants = "padding/coords1d"
axes.n = [1, 2, 3]
axes.mode = ["edge", "wrap"]
window = "0.5:1"
estimators = ["padding/documented"]
[[sweep.rule]]
when = { n = [2, 3], mode = "wrap" }
expect = "out_of_memory"
[[sweep.rule]]
when = { n = 3, variant = "padding/*" }
window = "0:9"
estimators = []
[[sweep.rule]]
when = { n = 1, mode = "wrap" }
skip = true
[[sweep]]
variants = "vertical_shift/fused"
)");
  EXPECT_EQ(suite.cases.size(), 6u);
  const PlannedCase& sweep_wide = find(suite, "padding/coords1d/auto/mode:edge/n:1");
  EXPECT_EQ(sweep_wide.window, (Window{0.5, 1}));
  EXPECT_EQ(sweep_wide.expected_outcome, "ok");
  EXPECT_THAT(sweep_wide.judged_estimators, ElementsAre("padding/documented"));
  EXPECT_EQ(find(suite, "padding/coords1d/auto/mode:wrap/n:2").expected_outcome, "out_of_memory");
  const PlannedCase& two_rules = find(suite, "padding/coords1d/auto/mode:wrap/n:3");
  EXPECT_EQ(two_rules.expected_outcome, "out_of_memory");
  EXPECT_EQ(two_rules.window, (Window{0, 9}));
  EXPECT_TRUE(two_rules.judged_estimators.empty());
  EXPECT_EQ(find(suite, "vertical_shift/fused/auto").window, (Window{0.7, 1}));
}

TEST(Suite, LimitsOfARuleReplaceThoseOfItsSweepOneByOne) {
  const Suite suite = expand(
      "max_peak = '3 GiB'\n[[sweep]]\nvariants = ['padding/coords1d', 'vertical_shift/fused']\n"
      "max_time = '2 ms'\nmax_peak_over_floor = 2\n"
      "[[sweep.rule]]\nwhen = { variant = 'padding/*' }\nmax_peak = '1 kB'\nmax_peak_over_floor = 1.05\n");
  EXPECT_EQ(find(suite, "vertical_shift/fused/auto").limits, (Limits{Size{3} << 30, 2, 2e6}));
  EXPECT_EQ(find(suite, "padding/coords1d/auto").limits, (Limits{1000, 1.05, 2e6}));
}

TEST(Suite, LimitsOfMetricsAndAllowancesAreReplacedOneByOne) {
  const std::string text =
      "allow_growth = '5 %'\nmax_metric = { iterations = 30, error = 1e-3 }\n[[sweep]]\n"
      "variants = ['padding/coords1d', 'vertical_shift/fused']\nallow_shrinking = '64 KiB'\n"
      "[[sweep.rule]]\nwhen = { variant = 'padding/*' }\nallow_growth = '0 %'\n"
      "max_metric.iterations = 10\nmin_metric = { iterations = 2 }\n";
  const Suite suite = expand(text);
  EXPECT_EQ(find(suite, "vertical_shift/fused/auto").limits,
            (Limits{std::nullopt,
                    std::nullopt,
                    std::nullopt,
                    parse_allowance("5 %"),
                    parse_allowance("64 KiB"),
                    {{"iterations", std::nullopt, 30}, {"error", std::nullopt, 1e-3}}}));
  EXPECT_EQ(find(suite, "padding/coords1d/auto").limits,
            (Limits{std::nullopt,
                    std::nullopt,
                    std::nullopt,
                    parse_allowance("0 %"),
                    parse_allowance("64 KiB"),
                    {{"iterations", 2, 10}, {"error", std::nullopt, 1e-3}}}));
  EXPECT_NE(expand("allow_growth = '6 %'\n" + text.substr(text.find('\n') + 1)).fingerprint,
            suite.fingerprint);
}

TEST(Suite, AVersionIsOfItsVariantsAndPartOfTheFingerprint) {
  const auto text = [](const std::string& version) {
    return "[[sweep]]\nvariants = ['padding/coords1d', 'vertical_shift/fused']\n" + version;
  };
  const std::string rule = "[[sweep.rule]]\nwhen = { variant = 'padding/*' }\nversion = 2\n";
  const Suite suite = expand(text(rule));
  EXPECT_EQ(find(suite, "padding/coords1d/auto").version, 2);
  EXPECT_EQ(find(suite, "vertical_shift/fused/auto").version, 1);
  EXPECT_EQ(find(expand("version = 3\n" + text("")), "vertical_shift/fused/auto").version, 3);
  EXPECT_NE(expand(text("")).fingerprint, suite.fingerprint);
  EXPECT_EQ(expand(text("")).fingerprint, expand(text("version = 1\n")).fingerprint);
}

TEST(Suite, RulesSeeTheResolvedBackend) {
  const char* text = R"(
[[sweep]]
variants = "padding/coords1d"
backend = ["auto", "dry"]
[[sweep.rule]]
when = { backend = "cuda" }
expect = "unsupported"
)";
  EXPECT_EQ(find(expand(text, {"opencl", {}}), "padding/coords1d/opencl").expected_outcome, "ok");
  EXPECT_EQ(find(expand(text, {"cuda", {}}), "padding/coords1d/cuda").expected_outcome, "unsupported");
  EXPECT_EQ(find(expand(text, {"cuda", {}}), "padding/coords1d/dry").expected_outcome, "ok");
}

TEST(Suite, EveryNameParsesBack) {
  const Suite suite = expand(R"(
[[sweep]]
variants = "padding/*"
backend = ["opencl", "dry"]
axes.mode = ["constant", "edge"]
axes.ny = { pow2 = [0, 40] }
)");
  for (const PlannedCase& planned : suite.cases) {
    EXPECT_EQ(parse_case(planned.name, example_description()), planned.sweep_case) << planned.name;
  }
}

TEST(Suite, ASweepMayNameTheFigureThatShowsIt) {
  const Suite suite = expand(
      "[[sweep]]\nvariants = 'padding/coords1d'\nfigure = 'growth'\naxes.n = 2\n"
      "[[sweep]]\nvariants = 'padding/coords1d'\naxes.n = 3\n");
  EXPECT_EQ(suite.cases.at(0).figure, "growth");
  EXPECT_EQ(suite.cases.at(1).figure, "");
  EXPECT_THROW(expand("[[sweep]]\nvariants = 'padding/coords1d'\nfigure = '../x'\n"), UsageError);
}

TEST(Suite, FingerprintDistinguishesNamesAndExpectations) {
  const auto fingerprint = [](const std::string& line) {
    return expand("[[sweep]]\nvariants = 'padding/coords1d'\n" + line).fingerprint;
  };
  const std::string plain = fingerprint("");
  EXPECT_EQ(plain, fingerprint("axes.n = 20 # the default\n"));
  for (const char* line : {"axes.n = 21", "expect = 'timeout'", "window = '0.7:1'", "backend = 'dry'",
                           "estimators = ['padding/documented']"}) {
    EXPECT_NE(plain, fingerprint(line)) << line;
  }
}

class SuiteFiles : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  const TemporaryFolder temporary_;
  const std::filesystem::path& folder_ = temporary_.path();
};

TEST_F(SuiteFiles, SeveralAreOneSuite) {
  const auto first = write("first.toml", "[[sweep]]\nvariants = 'padding/coords1d'\n");
  const auto second = write("second.toml", "name = 'nightly'\n[[sweep]]\nvariants = 'padding/coords2d'\n");
  const Suite suite = load_suites({first, second}, example_description(), {});
  EXPECT_EQ(suite.name, "first+nightly");
  EXPECT_THAT(suite.files, ElementsAre(first, second));
  EXPECT_THAT(names(suite), ElementsAre("padding/coords1d/auto", "padding/coords2d/auto"));
}

TEST_F(SuiteFiles, CannotShareACase) {
  const auto first = write("first.toml", "[[sweep]]\nvariants = 'padding/coords1d'\n");
  const auto second = write("second.toml", "\n[[sweep]]\nvariants = 'padding/*'\naxes.n = [1, 20]\n");
  EXPECT_THAT(
      [&] {
        (void)load_suites({first, second}, example_description(), {});
      },
      ThrowsMessage<UsageError>(
          testing::AllOf(HasSubstr("second.toml:2: sweep: duplicate case padding/coords1d/auto: it is"),
                         HasSubstr("first.toml:1"))));
}

TEST_F(SuiteFiles, ThatCannotBeReadAreNamed) {
  EXPECT_THAT([&] { (void)load_suites({folder_ / "none.toml"}, example_description(), {}); },
              ThrowsMessage<UsageError>(HasSubstr("none.toml': check that it exists")));
  EXPECT_THAT([&] { (void)load_suites({folder_}, example_description(), {}); },
              ThrowsMessage<UsageError>(HasSubstr("is a folder")));
  EXPECT_THROW((void)load_suites({}, example_description(), {}), UsageError);
}

}  // namespace
}  // namespace peakmark
