#include "measure/sweep/external_estimator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "measure/sweep/sample_description.hpp"
#include "measure/sweep/suite_document.hpp"

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::string kEstimatedSweep =
    "[[sweep]]\nvariants = 'padding/coords1d'\naxes.ny = 300\naxes.pad_x0 = 3\n";

Suite estimator_suite(const std::string& text) {
  return expand_suites({parse_suite_document(text, "/suites/s.toml")}, example_description(), {});
}

EstimatorQuestion question_about(const Suite& suite, std::string_view name) {
  const PlannedCase& planned = suite.cases.front();
  return make_question(*suite.vocabulary.estimator(name),
                       *suite.vocabulary.description.variant(planned.sweep_case.variant),
                       planned.sweep_case.parameters);
}

TEST(ExternalEstimator, ACallOfItselfTakesDimensionsAndParametersFromTheAxes) {
  const Suite suite = estimator_suite(kEstimatedSweep + "estimators = ['python:theirs.memory:padding']\n");
  EXPECT_THAT(suite.cases.front().judged_estimators, ElementsAre("python:theirs.memory:padding"));
  const EstimatorQuestion question = question_about(suite, "python:theirs.memory:padding");
  EXPECT_EQ(20, question.slices);
  EXPECT_EQ(0, question.slice_dimension);
  EXPECT_THAT(question.other_dimensions, ElementsAre(300, 512));
  EXPECT_EQ("float32", question.dtype);
  std::vector<std::string> names;
  for (const auto& [name, value] : question.parameters.values()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("mode", "pad_y0", "pad_y1", "pad_x0", "pad_x1"));
  EXPECT_EQ(3, question.parameters.integer("pad_x0"));
}

TEST(ExternalEstimator, WordsOfACommandMayHoldBlanks) {
  EXPECT_THAT(estimator_command_words("./run  --fast"), ElementsAre("./run", "--fast"));
  EXPECT_THAT(estimator_command_words("'./my estimators/run' \"--a b\" c\\ d ''"),
              ElementsAre("./my estimators/run", "--a b", "c d", ""));
  EXPECT_THAT(estimator_command_words("  "), testing::IsEmpty());
  EXPECT_THROW(estimator_command_words("'./run"), UsageError);
  EXPECT_THROW(check_estimator_call("command:'' x"), UsageError);
  EXPECT_THROW(check_estimator_call("command: "), UsageError);
  EXPECT_NO_THROW(check_estimator_call("command:'./my run' x"));
}

TEST(ExternalEstimator, MayHaveMoreKeysInATableOfItsOwn) {
  const Suite suite = estimator_suite(
      "[[estimator]]\nname = 'theirs'\ncall = 'command:./estimate --fast'\nform = 'module'\n"
      "other_dimensions = ['pad_y0 + ny', 'nx']\ndtype = 'uint16'\nparameters = ['mode']\nseconds = 5\n" +
      kEstimatedSweep + "estimators = 'theirs'\n");
  const EstimatorQuestion question = question_about(suite, "theirs");
  EXPECT_THAT(question.other_dimensions, ElementsAre(300, 512));
  EXPECT_EQ("uint16", question.dtype);
  EXPECT_EQ(1U, question.parameters.values().size());
  EXPECT_EQ(5, suite.vocabulary.estimator("theirs")->seconds);
  EXPECT_EQ("/suites", suite.vocabulary.estimator("theirs")->suite_folder);
}

TEST(ExternalEstimator, OfAProgramIsItsOwn) {
  const Suite suite = estimator_suite(
      "[[program]]\nvariant = 'a/b'\ncommand = ['x']\npython = 'env'\nestimator = 'python:m:f'\n"
      "slice_axis = 'n'\nslice_dimension = 1\naxes.n = 7\naxes.ny = 8\naxes.nx = 9\n"
      "[[sweep]]\nvariants = 'a/b'\n");
  const auto& estimators = suite.vocabulary.description.variant("a/b")->estimators;
  ASSERT_EQ(1U, estimators.size());
  EXPECT_EQ("python:m:f", estimators[0].name);
  EXPECT_EQ("documented", estimators[0].form);
  EXPECT_EQ("env", suite.vocabulary.estimator("python:m:f")->python);
  EXPECT_EQ(1, question_about(suite, "python:m:f").slice_dimension);
  EXPECT_EQ(std::nullopt, suite.vocabulary.estimator("python:m:g", "a/b"));
}

TEST(ExternalEstimator, IsAskedInItsProgramsPython) {
  const Suite suite = estimator_suite(
      "[[program]]\nvariant = 'a/b'\ncommand = ['x']\npython = 'env'\npython_made_by = 'make "
      "env'\nslice_axis = 'n'\naxes.n = 7\naxes.ny "
      "= 8\n"
      "axes.nx = 9\n[[estimator]]\nname = 'any'\ncall = 'python:m:f'\n[[estimator]]\nname = 'own'\n"
      "call = 'python:m:f'\npython = 'other'\n[[sweep]]\nvariants = 'a/b'\nestimators = ['any', 'own']\n");
  EXPECT_EQ("env", suite.vocabulary.estimator("any", "a/b")->python);
  EXPECT_EQ("make env", suite.vocabulary.estimator("any", "a/b")->python_made_by);
  EXPECT_EQ("", suite.vocabulary.estimator("own", "a/b")->python_made_by);
  EXPECT_EQ("other", suite.vocabulary.estimator("own", "a/b")->python);
  EXPECT_EQ("", suite.vocabulary.estimator("any", "padding/coords1d")->python);
}

const std::string kFormulas =
    "[[estimator]]\nname = 'explained'\n"
    "[[estimator.formula]]\nwhen = { variant = 'padding/*', mode = ['edge', 'wrap'] }\n"
    "bytes = 'itemsize * n * (ny + pad_y0) * (nx + pad_x0)'\n"
    "[[estimator.formula]]\nwhen = { variant = 'padding/*', nx = 512 }\nbytes = '4 * n * ny * nx'\n"
    "[[estimator.formula]]\nwhen = { variant = 'vertical_shift/*' }\nbytes = '4 * n_a'\n";

TEST(ExternalEstimator, TakesTheFirstFormulaWhoseConditionsHold) {
  const auto bytes = [](const std::string& axes, Size slices) {
    const Suite suite = estimator_suite(kFormulas + "[[sweep]]\nvariants = 'padding/coords1d'\n" + axes +
                                        "\nestimators = 'explained'\n");
    const ExternalEstimator& estimator = *suite.vocabulary.estimator("explained");
    EXPECT_EQ(estimator.form, "formula");
    return formula_bytes(estimator, question_about(suite, "explained"), slices);
  };
  EXPECT_EQ(bytes("axes.mode = 'wrap'\naxes.pad_x0 = 3", 20), 4 * 20 * 512 * 515);
  EXPECT_EQ(bytes("axes.mode = 'edge'\naxes.dtype = 'f64'", 7), 8 * 7 * 512 * 512);
  EXPECT_EQ(bytes("axes.mode = 'constant'\naxes.pad_x0 = 3", 1), 4 * 512 * 512);
  try {
    bytes("axes.mode = 'constant'\naxes.nx = 7", 1);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("no formula applies to padding/coords1d mode=constant n=20 ny=512 nx=7 pad_y0=0"));
  }
}

std::string estimator_mistake(const std::string& text) {
  try {
    (void)estimator_suite(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ExternalEstimator, TakesNumpysNamesOfDtypes) {
  for (const char* const dtype :
       {"f32", "float32", "<f4", "f8", "u2", "uint16", "complex64", "?", "double"}) {
    EXPECT_EQ("", estimator_mistake(std::string("[[estimator]]\ncall = 'python:m:f'\ndtype = '") + dtype +
                                    "'\n" + kEstimatedSweep))
        << dtype;
  }
}

TEST(ExternalEstimator, MistakesNameFileLineAndKey) {
  const std::string call = "[[estimator]]\ncall = 'python:m:f'\n";
  const std::pair<std::string, std::string> mistakes[] = {
      {"[[estimator]]\nname = 'x'\n", "/suites/s.toml:1: estimator: no call: add call"},
      {"[[estimator]]\ncall = 'm:f'\n", "/suites/s.toml:2: call: malformed call 'm:f': write python:"},
      {"[[estimator]]\ncall = 'python:m'\n", "/suites/s.toml:2: call: malformed call 'python:m'"},
      {"[[estimator]]\ncall = 'command: '\n", "/suites/s.toml:2: call: malformed call 'command: '"},
      {call + "form = 'modul'\n", "/suites/s.toml:3: form: unknown form 'modul'; did you mean 'module'?"},
      {call + "other_dimensions = ['ny']\n", "/suites/s.toml:3: other_dimensions: must be two"},
      {call + "other_dimensions = ['ny +', 'nx']\n", "/suites/s.toml:3: other_dimensions: formula 'ny +'"},
      {call + "dtype = 'flaot32'\n",
       "/suites/s.toml:3: dtype: unknown dtype 'flaot32'; did you mean 'float32'?"},
      {call + "dtype = ''\n", "/suites/s.toml:3: dtype: unknown dtype ''"},
      {call + "output_dimensions = 'nonsense'\n",
       "/suites/s.toml:3: output_dimensions: malformed function 'nonsense': write package.module:function"},
      {call + "padding = 'm:'\n", "/suites/s.toml:3: padding: malformed function 'm:'"},
      {"[[estimator]]\nname = 'x'\nbytes = '4 *'\n", "/suites/s.toml:3: bytes: formula '4 *', column 4"},
      {"[[estimator]]\nbytes = '4'\n", "/suites/s.toml:1: estimator: no name: add name"},
      {call + "bytes = '4'\n", "/suites/s.toml:1: estimator: has a formula, and keys of a call"},
      {"[[estimator]]\nname = 'x'\nbytes = '4'\nform = 'module'\n",
       "/suites/s.toml:1: estimator: has a formula, and keys of a call"},
      {"[[estimator]]\nname = 'x'\n[[estimator.formula]]\nwhen = { mode = 'edge' }\n",
       "/suites/s.toml:3: estimator.formula: no formula: add bytes"},
      {"[[estimator]]\nname = 'x'\n[[estimator.formula]]\nbyte = '4'\n",
       "/suites/s.toml:4: estimator.formula.byte: unknown key; did you mean 'bytes'?"},
      {"[[estimator]]\nname = 'x'\n[[estimator.formula]]\nbytes = '4'\nwhen = { backend = 'dry' }\n",
       "/suites/s.toml:5: estimator.formula.when.backend: formulas are for axes and variants"},
      {call + "seconds = 0\n", "/suites/s.toml:3: seconds: must be 0.1 to 1e6, not 0"},
      {call + "pading = 'm:g'\n", "/suites/s.toml:3: pading: unknown key; did you mean 'padding'?"},
      {call + call,
       "/suites/s.toml:3: estimator: duplicate estimator 'python:m:f': it is already in /suites/s.toml:1"},
  };
  for (const auto& [text, message] : mistakes) {
    EXPECT_THAT(estimator_mistake(text + kEstimatedSweep), testing::StartsWith(message)) << text;
  }
  EXPECT_THAT(estimator_mistake(call + "other_dimensions = ['ny', 'mx']\n" + kEstimatedSweep +
                                "estimators = 'python:m:f'\n"),
              HasSubstr("s.toml:8: estimators: padding/coords1d has no axis 'mx'; did you mean"));
  const std::string formula = "[[estimator]]\nname = 'x'\nbytes = ";
  EXPECT_THAT(estimator_mistake(formula + "'4 * mx'\n" + kEstimatedSweep + "estimators = 'x'\n"),
              HasSubstr("s.toml:8: estimators: padding/coords1d has no axis 'mx'; did you mean"));
  EXPECT_THAT(estimator_mistake(formula + "'4 * mode'\n" + kEstimatedSweep + "estimators = 'x'\n"),
              HasSubstr("axis 'mode' of padding/coords1d is a word: formulas need numbers"));
  EXPECT_THAT(estimator_mistake(kFormulas + "[[sweep]]\nvariants = 'vertical_shift/*'\nestimators = 'x'\n"),
              HasSubstr("has no estimator 'x'"));
  EXPECT_THAT(estimator_mistake("[[estimator]]\nname = 'x'\n[[estimator.formula]]\nwhen = { variant = 'a/*' "
                                "}\nbytes = '4'\n" +
                                kEstimatedSweep + "estimators = 'x'\n"),
              HasSubstr("estimator 'x' has no formula for padding/coords1d"));
  EXPECT_THAT(estimator_mistake(call + kEstimatedSweep + "estimators = 'python:m:g x'\n"),
              testing::IsEmpty());
  EXPECT_THAT(estimator_mistake(call + kEstimatedSweep + "estimators = 'paddin'\n"),
              HasSubstr("has no estimator 'paddin'; did you mean 'padding'?"));
}

}  // namespace
}  // namespace peakmark
