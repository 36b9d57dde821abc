#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command_testing.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The fake worker needs 1000 · n bytes.
class FitCommand : public CommandTest {
 protected:
  Answer fit(std::vector<std::string> words) const {
    words.insert(words.begin(), "fit");
    const auto dashes = std::ranges::find(words, "--");
    words.insert(dashes, {"--worker", PEAKMARK_FAKE_WORKER, "--backend", "dry"});
    return peakmark(std::move(words));
  }
  nlohmann::json fit_json(std::vector<std::string> words) const {
    words.emplace_back("--json");
    const Answer answer = fit(std::move(words));
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
    return nlohmann::json::parse(answer.output);
  }
};

TEST_F(FitCommand, FindsTheLargestValueByTheFormulaAndRunsIt) {
  const Answer answer = fit({"fake/case", "n", "--budget", "123456"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output,
              AllOf(HasSubstr("peak = 1000·n"), HasSubstr("largest n: 123, which ran with 120.1 KiB")));

  const auto json = fit_json({"fake/case", "n", "--budget", "123456"});
  EXPECT_EQ(json["axis"], "n");
  EXPECT_EQ(json["value"], 123);
  EXPECT_EQ(json["budget_bytes"], 123456);
  EXPECT_EQ(json["predicted_bytes"], 123000);
  EXPECT_EQ(json["recorded_bytes"], 123000);
  EXPECT_EQ(json["trials"].size(), 1U);
  EXPECT_EQ(json["out_of_memory"], 0);
  EXPECT_EQ(json["confirmed"], true);
  EXPECT_EQ(json["intervals"], nlohmann::json::parse(R"([{"first": 1, "last": 123}])"));
}

TEST_F(FitCommand, TriesOnlyTheValuesOfAList) {
  const auto json = fit_json({"fake/case", "n=8,1,2,4,16,32,32", "--budget", "20500"});
  EXPECT_EQ(json["value"], 16);
  EXPECT_EQ(json["largest_value"], 16);
  EXPECT_EQ(json["objective"], "largest");
  EXPECT_EQ(json["trials"].size(), 1U);
  const auto proven =
      fit_json({"fake/case", "n=1,2,4,16,32", "--budget", "20500", "--prove", "--predict", "recordings"});
  EXPECT_EQ(proven["value"], 16);
  EXPECT_EQ(proven["proven"], true);
  EXPECT_THAT(fit({"fake/case", "n=1,2,4", "--budget", "20500"}).output,
              AllOf(HasSubstr("largest n: 4, "), HasSubstr("the largest of the values to try")));
  EXPECT_EQ(fit({"fake/case", "n=1,2,0", "--budget", "20500"}).end.exit_code, 2);
  EXPECT_EQ(fit({"fake/case", "n=1,2", "--multiple-of", "2", "--budget", "20500"}).end.exit_code, 2);
}

TEST_F(FitCommand, ThroughputNeedsADeviceThatTakesTimes) {
  const Answer answer = fit({"fake/case", "n", "--budget", "20500", "--objective", "throughput"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("dry measures no times"));
}

TEST_F(FitCommand, ExtrapolatesPeaksInAtMostFourTrials) {
  const auto json = fit_json({"fake/case", "n", "--budget", "5 MB", "--predict", "recordings"});
  EXPECT_EQ(json["value"], 5000);
  EXPECT_LE(json["trials"].size(), 4U);
  EXPECT_EQ(json["out_of_memory"], 0);
  EXPECT_EQ(json["predictor"], "recordings");
  EXPECT_TRUE(json["formula"].is_null());
  EXPECT_TRUE(json["intervals"].is_null());
}

TEST_F(FitCommand, ExtrapolatesPeaksIfTheEstimatorDoesNotDependOnTheAxis) {
  // The fake worker estimates 14400 bytes for every n.
  const auto json = fit_json({"fake/case", "n", "--budget", "5 MB", "--predict", "estimator"});
  EXPECT_EQ(json["value"], 5000);
  EXPECT_EQ(json["predictor"], "recordings");
  EXPECT_THAT(json["notes"].dump(), HasSubstr("the estimator does not depend on n"));
}

TEST_F(FitCommand, TriesMultiplesInTheRangeOnly) {
  EXPECT_EQ(fit_json({"fake/case", "n", "--budget", "123456", "--multiple-of", "16"})["value"], 112);
  EXPECT_EQ(fit_json({"fake/case", "n=10..50", "--budget", "123456"})["value"], 50);
  EXPECT_EQ(fit_json({"fake/case", "n=10..50", "--budget", "123456", "--multiple-of", "16"})["value"], 48);
}

TEST_F(FitCommand, ProvesThatTheNextValueExceedsTheBudget) {
  const auto json = fit_json({"fake/case", "n", "--budget", "123456", "--prove"});
  EXPECT_EQ(json["value"], 123);
  EXPECT_EQ(json["proven"], true);
  EXPECT_EQ(json["trials"].back()["value"], 124);
  EXPECT_EQ(json["trials"].back()["recorded_bytes"], 124000);
}

TEST_F(FitCommand, PlansChunks) {
  const auto json = fit_json({"fake/case", "n", "--budget", "123456", "--slices", "1000"});
  EXPECT_EQ(
      json["chunks"],
      nlohmann::json::parse(
          R"({"slices": 1000, "chunk_slices": 123, "chunks": 9, "last_slices": 16, "last_bytes": 16000})"));
}

TEST_F(FitCommand, SaysThatNothingFits) {
  const Answer answer = fit({"fake/case", "n", "--budget", "999"});
  EXPECT_EQ(answer.end.exit_code, 1);
  EXPECT_THAT(answer.output, HasSubstr("nothing fits: by the formula, n = 1 needs more than 999 B"));
  const Answer run = fit({"fake/case", "n", "--budget", "999", "--predict", "recordings"});
  EXPECT_EQ(run.end.exit_code, 1);
  EXPECT_THAT(run.output, HasSubstr("nothing fits: n = 1 does not run within 999 B"));
}

TEST_F(FitCommand, ATrialThatCrashesEndsTheSearch) {
  const Answer answer = fit({"fake/case", "n", "does=abort", "--budget", "5 MB", "--predict", "recordings"});
  EXPECT_EQ(answer.end.exit_code, 3);
  EXPECT_THAT(answer.output, HasSubstr("no answer: n = 1 ended with crashed"));
}

/// Returns the words of the command that a report prints for repeating a failed trial.
std::vector<std::string> reproduced(const std::string& output) {
  const std::string mark = "reproduce: peakmark ";
  const std::size_t start = output.find(mark);
  EXPECT_NE(start, std::string::npos) << output;
  if (start == std::string::npos) return {};
  const std::size_t first = start + mark.size();
  std::istringstream text(output.substr(first, output.find('\n', first) - first));
  std::vector<std::string> words;
  for (std::string word; text >> std::quoted(word, '\'');) words.push_back(word);
  return words;
}

TEST_F(FitCommand, AFailedTrialIsReproducedByThePrintedCommand) {
  const Answer variant =
      fit({"fake/case", "n", "does=abort", "--budget", "5 MB", "--predict", "recordings", "--timeout", "9"});
  EXPECT_EQ(variant.end.exit_code, 3);
  EXPECT_THAT(variant.errors, Not(HasSubstr("reproduce")));
  const Answer again = peakmark(reproduced(variant.output));
  EXPECT_EQ(again.end.exit_code, 3) << again.errors;
  EXPECT_THAT(again.output, HasSubstr("no answer: n = 1 ended with crashed"));
  EXPECT_EQ(reproduced(again.output), reproduced(variant.output));
}

TEST_F(FitCommand, RefusesWrongInput) {
  const auto expect_usage = [&](const std::vector<std::string>& words, const std::string& text) {
    const Answer answer = fit(words);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, HasSubstr(text));
  };
  expect_usage({"fake/case", "n"}, "--budget");
  const std::string blur = folder_.path() / "blur.toml";
  std::ofstream(blur) << "[[program]]\nvariant = 'blur/one'\ncommand = ['./blur', '{sigma}']\n"
                         "axes.sigma = 1.5\n[[sweep]]\nvariants = 'blur/one'\n";
  expect_usage(
      {blur, "blur/one", "sigma", "--budget", "1 GB"},
      "axis 'sigma' of blur/one has floating-point numbers, and fit takes an axis of integers: measure "
      "the peaks at some of its values by `peakmark run … sigma=0.5,1,2 --memory-only`");
  for (const char* const values : {"0.5..2", "0.5..2:0.1", "1..2.5", "0.5,1,2"})
    expect_usage(
        {blur, "blur/one", "sigma=" + std::string(values), "--budget", "1 GB"},
        "'" + std::string(values) + "' has floating-point numbers, and fit takes an axis of integers");
  expect_usage({"fake/case", "--budget", "1 GB"}, "no axis to fit");
  expect_usage({"fake/case", "n", "does", "m", "--budget", "1 GB"}, "three axes without a value");
  expect_usage({"fake/case", "n", "does", "--budget", "1 GB"}, "is not an integer axis");
  expect_usage({"fake/case", "does", "--budget", "1 GB"}, "is not an integer axis");
  expect_usage({"fake/case", "m", "--budget", "1 GB"}, "has no axis 'm'");
  expect_usage({"fake/caze", "n", "--budget", "1 GB"}, "did you mean 'fake/case'");
  expect_usage({"fake/case", "n=9..3", "--budget", "1 GB"}, "'9..3' is not a range");
  expect_usage({"fake/case", "n=9..11", "--multiple-of", "16", "--budget", "1 GB"},
               "no multiple of 16 in 9..11");
  expect_usage({"fake/case", "n", "--budget", "90%"}, "it has no memory to take a part of: write bytes");
  expect_usage({"fake/case", "n", "--budget", "101%"}, "is not a percentage");
  expect_usage({"fake/case", "n", "--budget", "free"}, "dry allocates nothing on a device");
  expect_usage({"fake/case", "n", "--budget", "1 GB", "--predict", "guess"},
               "'guess' is not one of formula, estimator, recordings");
  expect_usage({"n=1..8", "--budget", "1 GB", "--predict", "estimator", "--", "./train", "--batch", "{n}"},
               "program/train has no estimator");
  expect_usage({"n=1..8", "--budget", "1 GB", "--", "./train", "--batch", "8"},
               "write {n} where its value belongs");
  expect_usage({"n=1..8", "k", "--budget", "1 GB", "--", "./train", "{n}"},
               "does not read the axis 'k': write {k} where its value belongs");
  expect_usage({"n=1..8", "k=3", "--budget", "1 GB", "--", "./train", "{n}"}, "does not read the axis 'k'");
  expect_usage({"n=1..8", "k=n+1", "--budget", "1 GB", "--", "./train", "{n}"}, "does not read the axis 'k'");
  expect_usage({"fake/case", "n=1..9223372036854775808", "--budget", "1 GB"}, "of at most 2^40");
  // The rest of the message differs between versions of CLI11.
  expect_usage({"fake/case", "n", "--budget", "1 GB", "--slices", "0"}, "Value 0 not in range");
}

}  // namespace
}  // namespace peakmark
