#include "measure/estimate/external_estimates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "base/files_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

/// A command that answers by a shell script.
class ExternalEstimates : public testing::Test {
 protected:
  EstimateAnswer asked(const std::string& script, double seconds = 20) {
    const auto file = folder_.path() / "estimate";
    std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    ExternalEstimator estimator;
    estimator.call = "command:./estimate --fast";
    estimator.form = "module";
    estimator.seconds = seconds;
    estimator.suite_folder = folder_.path();
    estimator.padding = "m:f";
    EstimatorQuestion question;
    question.slice_dimension = 1;
    question.slices = 5;
    question.other_dimensions = {10, 20};
    question.dtype = "float32";
    question.parameters = Parameters({{"mode", std::string("edge")}, {"pad", Size{3}}});
    return ask_external(estimator, question, 14450);
  }
  std::string error_of(const std::string& line) {
    return asked("echo '" + line + "'").error.value_or("no error");
  }

  TemporaryFolder folder_;
};

EstimateAnswer asked_formula(const std::string& bytes, Size slices, std::optional<Size> available) {
  ExternalEstimator estimator;
  estimator.name = "explained";
  estimator.formulas.push_back({{}, {}, Formula(bytes)});
  EstimatorQuestion question;
  question.slices = slices;
  question.variant = "a/b";
  question.axes = Parameters({{"n", slices}, {"nx", Size{100}}});
  question.slice_axis = "n";
  return ask_external(estimator, question, available);
}

TEST(FormulaEstimates, FindTheMostSlicesThatFit) {
  const EstimateAnswer answer = asked_formula("4 * n * nx + 8 * nx", 5, 4000);
  EXPECT_EQ(answer.bytes, 2800);
  EXPECT_EQ(answer.slices, 8);
  EXPECT_EQ(asked_formula("4 * n * nx + 8 * nx", 5, 1199).slices, 0);
  EXPECT_EQ(asked_formula("4 * n * nx", 5, std::nullopt).slices, std::nullopt);
  EXPECT_EQ(asked_formula("n * n * n", 5, Size{1} << 60).slices, Size{1} << 20);
  EXPECT_THAT(asked_formula("8 * nx", 5, 4000).error.value_or(""),
              StartsWith("zero_per_slice: its formula does not depend on the number of slices"));
  EXPECT_THAT(asked_formula("n - 6", 5, 4000).error.value_or(""), StartsWith("negative: bytes is -1"));
  EXPECT_THAT(asked_formula("nx / (n - 5)", 5, 4000).error.value_or(""), HasSubstr("100 / 0 has no value"));
}

TEST_F(ExternalEstimates, ACommandIsAskedOnALineAndAnswersOnOne) {
  const EstimateAnswer answer = asked(
      "read line; echo \"$line $*\" > \"$(dirname \"$0\")/asked\"; echo spoken >&2\n"
      "echo '{\"slices\": 9, \"bytes\": 8000, \"dtype\": \"uint16\", \"padding\": [1, 2]}'");
  EXPECT_EQ(std::nullopt, answer.error);
  EXPECT_EQ(9, answer.slices);
  EXPECT_EQ(8000, answer.bytes);
  EXPECT_EQ("u16", answer.dtype);
  EXPECT_THAT(answer.padding, ElementsAre(1, 2));
  std::ifstream asked_file(folder_.path() / "asked");
  std::string line;
  std::getline(asked_file, line);
  EXPECT_EQ(
      "{\"function\":\"./estimate "
      "--fast\",\"form\":\"module\",\"variant\":null,\"slice_dimension\":1,\"other_dimensions\":[10,20],"
      "\"dtype\":\"float32\",\"parameters\":{\"mode\":\"edge\",\"pad\":3},\"available_bytes\":14450,"
      "\"slices\":5,"
      "\"output_dimensions\":null,\"padding\":\"m:f\"} --fast",
      line);
}

TEST_F(ExternalEstimates, ACommandMayHoldBlanks) {
  const auto file = folder_.path() / "my estimators" / "run it";
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file)
      << "#!/bin/sh\necho '{\"slices\": 1, \"bytes\": 2, \"error\": \"exception: '\"$#$1\"'\"}'\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  ExternalEstimator estimator;
  estimator.call = "command:'./my estimators/run it' --a\\ b";
  estimator.form = "module";
  estimator.suite_folder = folder_.path();
  EstimatorQuestion question;
  question.slices = 1;
  question.other_dimensions = {10, 20};
  question.dtype = "float32";
  EXPECT_EQ(ask_external(estimator, question, 1).error, "exception: 1--a b");
}

TEST_F(ExternalEstimates, WhatIsNoAnswerIsAnErrorWithAName) {
  EXPECT_THAT(error_of("nine"), StartsWith("wrong_type: the answer is invalid"));
  EXPECT_THAT(error_of("[9]"), StartsWith("wrong_type: the answer is not a JSON object"));
  EXPECT_THAT(error_of(R"({"slices": "9", "bytes": 1})"), StartsWith("wrong_type: slices is"));
  EXPECT_THAT(error_of(R"({"slices": 1.5, "bytes": 1})"), StartsWith("wrong_type: slices is 1.5"));
  EXPECT_THAT(error_of(R"({"slices": -1, "bytes": 1})"), StartsWith("negative: slices is -1, for "));
  EXPECT_THAT(
      error_of(R"({"slices": -1, "bytes": 1})"),
      AllOf(HasSubstr(" bytes of available memory, other_dimensions=("), HasSubstr("answer max(0, slices)")));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": -1e30})"), StartsWith("negative: bytes"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 1e19})"), StartsWith("too_large: bytes"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 9223372036854775808})"), StartsWith("too_large: bytes"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 0})"), StartsWith("zero_per_slice: "));
  EXPECT_THAT(error_of(R"({"slices": null, "bytes": 1})"), StartsWith("no_answer: it reports no slices"));
  EXPECT_THAT(error_of(R"({"slices": 1})"), StartsWith("no_answer: it reports no bytes"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": NaN})"), StartsWith("wrong_type: the answer is invalid"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 1, "dtype": "flaot32"})"),
              StartsWith("wrong_dtype: unknown dtype 'flaot32'; did you mean 'float32'?"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 1, "dtype": ""})"), StartsWith("wrong_dtype: "));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 1, "padding": [1, -2]})"),
              StartsWith("negative: padding is [1,-2]"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 1, "padding": [1]})"),
              StartsWith("wrong_type: padding is [1]"));
  EXPECT_THAT(error_of(R"({"slices": 1, "bytes": 1, "output_dimensions": [-10, 20]})"),
              StartsWith("negative: output_dimensions is [-10,20]"));
  EXPECT_EQ("no_answer: its error is empty", error_of(R"({"error": ""})"));
  EXPECT_EQ("exception: as it says", error_of(R"({"error": "exception: as it says"})"));
}

TEST_F(ExternalEstimates, AProcessThatDiesOrNeverAnswersIsAnErrorWithAName) {
  EXPECT_EQ("died: its process ended with exit code 3; its last message: no such card",
            asked("echo no such card >&2; exit 3").error);
  EXPECT_THAT(asked("kill -9 $$").error.value_or(""),
              StartsWith("died: its process ended with signal SIGKILL"));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(
      "no_answer_in_time: estimator 'command:./estimate --fast' did not answer within 0.2 s; make it faster, "
      "or "
      "raise the limit with `seconds` in its [[estimator]]",
      asked("sleep 1000", 0.2).error);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(ExternalEstimates, OneThatCannotBeCalledIsReported) {
  ExternalEstimator estimator;
  estimator.call = "command:/no/such/program";
  EXPECT_THAT(ask_external(estimator, {}, 1).error.value_or(""),
              StartsWith("not_found: /no/such/program: no such program"));
  estimator.call = "python:m:f";
  estimator.python = "/no/such/environment";
  EXPECT_THAT(ask_external(estimator, {}, 1).error.value_or(""),
              AllOf(StartsWith("not_found: "), HasSubstr("is missing; create it with: ")));
}

}  // namespace
}  // namespace peakmark
