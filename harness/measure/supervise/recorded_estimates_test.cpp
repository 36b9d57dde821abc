#include "measure/supervise/recorded_estimates.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

/// A run of a user's variant with three measured cases and one that was skipped, and a command that answers.
class RecordedEstimates : public testing::Test {
 protected:
  RecordedEstimates() {
    question_.estimator = "command:" + (folder_.path() / "estimate").string();
    answer_with("echo '{\"slices\": 7, \"bytes\": 900, \"dtype\": \"uint16\"}'");
    add(8, 8);
    add(8, 16);
    add(20, 16);
    add(20, 16);
    run_.observations.back().outcome = Outcome::out_of_memory;
    run_.observations.back().requested_peak_bytes.reset();
    run_.observations.back().estimate.reset();
  }
  void add(Size n, Size nx) {
    Observation& observation = run_.observations.emplace_back();
    observation.variant = "mine/blur";
    observation.axes = Parameters({{"n", n}, {"ny", Size{5}}, {"nx", nx}, {"mode", std::string("edge")}});
    observation.requested_peak_bytes = 1000 * n;
    observation.estimate = EstimateObservation{"recorded", "direct", n, n, 1000, "f32", std::nullopt};
    observation.other_estimates = {
        {"other", "module", n, std::nullopt, std::nullopt, std::nullopt, std::nullopt}};
    PlannedCase& planned = run_.context.planned.emplace_back();
    planned.sweep_case.variant = "mine/blur";
    planned.judged_estimators = {"other"};
  }
  void answer_with(const std::string& script) const {
    const auto file = folder_.path() / "estimate";
    std::ofstream(file) << "#!/bin/sh\nread line; echo \"$line\" >> \"$(dirname \"$0\")/asked\"\n"
                        << script << "\n";
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  }
  std::string asked() const { return read_text_file(folder_.path() / "asked"); }
  std::string error_of_asking() {
    try {
      ask_about_run(run_, question_);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

  TemporaryFolder folder_;
  peakmark::Run run_;
  RecordedQuestion question_;
};

TEST_F(RecordedEstimates, ReplaceThoseOfMeasuredCases) {
  EXPECT_EQ(ask_about_run(run_, question_), 3U);
  const EstimateObservation& first = run_.observations.front().estimate.value();
  EXPECT_EQ(first.estimator, question_.estimator);
  EXPECT_EQ(first.slices_used, 8);
  EXPECT_EQ(first.slices_estimated, 7);
  EXPECT_EQ(first.bytes_estimated, 900);
  EXPECT_EQ(first.dtype, "u16");
  EXPECT_FALSE(first.error);
  EXPECT_TRUE(run_.observations.front().other_estimates.empty());
  EXPECT_TRUE(run_.context.planned.front().judged_estimators.empty());
  EXPECT_FALSE(run_.observations.back().estimate);
}

TEST_F(RecordedEstimates, HaveTheWarningsOfTheProgramOnce) {
  answer_with("echo 'guessed for this card' >&2; echo '{\"slices\": 7, \"bytes\": 900}'");
  testing::internal::CaptureStderr();
  EXPECT_EQ(ask_about_run(run_, question_), 3U);
  const std::string warning = "estimator '" + question_.estimator + "': guessed for this card";
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "warning: " + warning + "\n");
  EXPECT_THAT(run_.context.warnings, testing::ElementsAre(warning));

  std::vector<std::string> received;
  EstimatorWarnings warnings([&](const std::string& text) { received.push_back(text); });
  question_.warnings = &warnings;
  ask_about_run(run_, question_);
  ask_about_run(run_, question_);
  EXPECT_THAT(received, testing::ElementsAre(warning));
  EXPECT_EQ(run_.context.warnings.size(), 1U);
}

// `nx` is 8 too in the first case; only `n` is equal to the recorded number of slices in all cases.
TEST_F(RecordedEstimates, FindTheSliceAxisInTheRun) {
  ask_about_run(run_, question_);
  EXPECT_THAT(asked(), AllOf(HasSubstr("\"other_dimensions\":[5,8]"),
                             HasSubstr("\"other_dimensions\":[5,16],\"dtype\":\"float32\",\"parameters\":{"
                                       "\"mode\":\"edge\"},\"available_bytes\":20000,\"slices\":20")));
}

TEST_F(RecordedEstimates, NeedASuiteIfTheSliceAxisIsNotClear) {
  run_.observations.erase(run_.observations.begin() + 1, run_.observations.end());
  EXPECT_EQ(error_of_asking(),
            "mine/blur: the run does not show which axis the slices are: name its suite with --suite");
  run_.observations.front().estimate.reset();
  EXPECT_THAT(error_of_asking(), HasSubstr("--suite"));
}

TEST_F(RecordedEstimates, AFailureIsTheErrorOfTheEstimate) {
  answer_with("echo '{\"slices\": -1, \"bytes\": 900}'");
  ask_about_run(run_, question_);
  EXPECT_THAT(run_.observations.front().estimate->error.value_or(""),
              AllOf(StartsWith("negative: slices is -1, for 8000 bytes"), HasSubstr("max(0, slices)")));
}

TEST_F(RecordedEstimates, OfASuiteKnowTheProgram) {
  const auto suite = folder_.path() / "suite.toml";
  std::ofstream(suite)
      << "[[estimator]]\nname = \"named\"\ncall = \"command:./estimate\"\n"
         "other_dimensions = [\"2*ny\", 3]\n"
         "[[program]]\nvariant = \"mine/blur\"\ncommand = [\"true\"]\nslice_axis = \"nx\"\n"
         "axes.n = 1\naxes.ny = 1\naxes.nx = 1\naxes.mode = \"edge\"\nestimator = \"named\"\n"
         "[[sweep]]\nvariants = \"mine/blur\"\n";
  question_.suites = {suite};
  question_.worker = PEAKMARK_FAKE_WORKER;
  for (const char* const name : {"named", ""}) {
    question_.estimator = name;
    EXPECT_EQ(ask_about_run(run_, question_), 3U);
    EXPECT_EQ(run_.observations.at(1).estimate->estimator, "named");
    EXPECT_EQ(run_.observations.at(1).estimate->slices_used, 16);
  }
  EXPECT_THAT(asked(), HasSubstr("\"other_dimensions\":[10,3]"));
  question_.estimator = "namde";
  EXPECT_THAT(error_of_asking(), AllOf(HasSubstr("no estimator 'namde'"), HasSubstr("named")));
}

TEST_F(RecordedEstimates, OfAWorkersVariantAreAskedInTheWorker) {
  question_.estimator.clear();
  question_.worker = PEAKMARK_FAKE_WORKER;
  EXPECT_THAT(error_of_asking(), HasSubstr("no variant 'mine/blur' of the run in "));
  for (Observation& one : run_.observations) {
    one.variant = "fake/case";
    one.axes = Parameters({{"does", std::string("ok")}, {"n", one.axes.integer("n")}});
  }
  run_.observations.at(1).axes.set("n", Size{13});  // the fake worker's estimator fails there
  EXPECT_EQ(ask_about_run(run_, question_), 3U);
  const EstimateObservation& first = run_.observations.front().estimate.value();
  EXPECT_EQ(first.estimator, "fake/case");
  EXPECT_EQ(first.form, "direct");
  EXPECT_EQ(first.slices_used, 8);
  EXPECT_EQ(first.slices_estimated, 9);
  EXPECT_EQ(first.bytes_estimated, 14400);
  EXPECT_EQ(run_.observations.at(1).estimate->error, "unlucky");
}

TEST_F(RecordedEstimates, OfOneVariantLeaveTheOthers) {
  add(9, 3);
  run_.observations.back().variant = "mine/other";
  question_.variant = "mine/other";
  EXPECT_EQ(ask_about_run(run_, question_), 1U);
  EXPECT_EQ(run_.observations.front().estimate->estimator, "recorded");
  EXPECT_EQ(run_.observations.back().estimate->slices_estimated, 7);
  question_.variant = "mine/othr";
  EXPECT_THAT(error_of_asking(),
              AllOf(HasSubstr("no variant 'mine/othr' in the run"), HasSubstr("mine/other")));
}

}  // namespace
}  // namespace peakmark
