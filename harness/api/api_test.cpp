#include "api/api_test.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "measure/runfile/description_json.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;

constexpr const char* kDry = "backend = \"dry\"\n[[sweep]]\nvariants = ";

TEST_F(ApiTest, AWorkerDescribesItsProgram) {
  const Answer answer = worker({"--describe"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Description description = description_from_json(answer.output);
  EXPECT_EQ(description.api, "1.0");
  EXPECT_EQ(description.worker, "api test 1");
  const VariantDescription* known = description.variant("known/bytes");
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->help, "44,000 bytes at n = 20");
  EXPECT_EQ(known->slice_axis, "n");
  ASSERT_EQ(known->axes.size(), 4u);
  EXPECT_EQ(known->axes[0].default_value, AxisValue(Size{20}));
  EXPECT_EQ(known->axes[0].min, 1);
  EXPECT_EQ(known->axes[1].choices, (std::vector<std::string>{"edge", "wrap"}));
  EXPECT_EQ(known->axes[2].min, 0) << "a default of 0 allows 0";
  ASSERT_EQ(known->estimators.size(), 4u);
  EXPECT_EQ(known->estimators[0].form, "module");
  EXPECT_EQ(known->estimators[1].form, "iterative");
  EXPECT_EQ(known->estimators[2].form, "documented");
}

TEST_F(ApiTest, AWorkerThatRunsAlonePrintsHowItIsMeasured) {
  const Answer answer = worker({});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_EQ(answer.output, "");
  EXPECT_THAT(answer.errors, HasSubstr(" is a worker of peakmark, with "));
  EXPECT_THAT(answer.errors, HasSubstr(std::string(" --worker ") + PEAKMARK_API_WORKER + "\n"));
}

TEST_F(ApiTest, ClassesAndLambdasAreMeasured) {
  const Answer answer = run(std::string(kDry) + "[\"known/bytes\", \"known/lambdas\"]\n");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const auto measured = observations();
  for (const char* variant : {"known/bytes", "known/lambdas"}) {
    SCOPED_TRACE(variant);
    const Observation& one = measured.at(variant);
    EXPECT_THAT(one.requested_peak_bytes, Optional(44000));
    EXPECT_THAT(one.setup_bytes, Optional(4000));
    EXPECT_THAT(one.input_bytes, Optional(8000));
    EXPECT_THAT(one.output_bytes, Optional(24000));
    EXPECT_THAT(one.leaked_bytes, Optional(0));
    EXPECT_EQ(one.at_peak.size(), 4u);
  }
  EXPECT_THAT(measured.at("known/bytes").bytes_moved, Optional(24000));
  EXPECT_EQ(measured.at("known/lambdas").bytes_moved, std::nullopt) << "it does not say";
  EXPECT_THAT(measured.at("known/bytes").flops, Optional(40.0));
  EXPECT_EQ(measured.at("known/lambdas").flops, std::nullopt);
}

TEST_F(ApiTest, AnAxisMayHaveFloatingPointNumbers) {
  const Description description = description_from_json(worker({"--describe"}).output);
  const VariantDescription* known = description.variant("known/sigma");
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->axes[1].default_value, AxisValue(1.5));
  EXPECT_EQ(known->axes[1].help, "in pixels");
  EXPECT_EQ(known->axes[2].default_value, AxisValue(0.5));
  const Answer answer = run(std::string(kDry) + "\"known/sigma\"\naxes.sigma = [0.1]\n");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation one = observations().at("known/sigma");
  EXPECT_EQ(one.case_name, "known/sigma/dry/sigma:0.1");
  EXPECT_EQ(one.axes, Parameters({{"n", Size{20}}, {"sigma", 0.1}, {"scale", 0.5}}));
  EXPECT_THAT(one.requested_peak_bytes, Optional(4 * 20 * 3));
  ASSERT_TRUE(one.estimate);
  EXPECT_EQ(one.estimate->slices_estimated, 20);
}

TEST_F(ApiTest, AFloatingPointNumberMayBeRefused) {
  const std::map<std::string, std::string> messages{
      {"axes.sigma = 0", "sigma must be above 0"},
      {"axes.n = 1.5", "axis 'n' is an integer: '1.5' is not"},
      {"axes.sigma = inf", "axis 'sigma' must be a finite number, not inf"}};
  for (const auto& [axis, message] : messages) {
    const Answer answer = run(std::string(kDry) + "\"known/sigma\"\n" + axis + "\n");
    EXPECT_EQ(answer.end.exit_code, 2) << axis;
    EXPECT_THAT(answer.errors, HasSubstr(message));
  }
}

TEST_F(ApiTest, KernelsInTheDialectRunOnDry) {
  const Answer answer =
      run(std::string(kDry) + "[\"kernels/scale\", \"kernels/errors\"]\naxes.dtype = [\"f32\", \"i32\"]\n");
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation one = observations().at("kernels/scale");
  EXPECT_THAT(one.requested_peak_bytes, Optional(8000));
  EXPECT_EQ(one.at_peak.size(), 2u);
  ASSERT_TRUE(one.estimate);
  EXPECT_THAT(one.estimate->bytes_estimated, Optional(8000));
}

TEST_F(ApiTest, AnEstimatorOfBytesListsItsParts) {
  const Answer answer = ask(
      {PEAKMARK_PROGRAM, {"estimate", "kernels/scale", "--worker", PEAKMARK_API_WORKER}, environment(""), ""},
      std::chrono::seconds(60));
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output, AllOf(HasSubstr("numbers"), HasSubstr("scaled"), HasSubstr("(8000 B)")));
}

TEST_F(ApiTest, ASizeThatOverflowsNamesTheLargestAxis) {
  const Answer answer =
      run(std::string(kDry) + "\"kernels/scale\"\naxes.n = 4611686018427387904\n", {"--memory-only"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors,
              HasSubstr("8 n is no 64-bit number; the largest axis is n = 4611686018427387904"));
}

TEST_F(ApiTest, EstimatorsOfThreeFormsAnswerAlikeAndOneThatThrowsHasAnError) {
  ASSERT_EQ(run(std::string(kDry) + "\"known/bytes\"\n").end.exit_code, 0);
  const Observation one = observations().at("known/bytes");
  ASSERT_TRUE(one.estimate);
  ASSERT_EQ(one.other_estimates.size(), 3u);
  for (const EstimateObservation& estimate :
       {*one.estimate, one.other_estimates[0], one.other_estimates[1]}) {
    SCOPED_TRACE(estimate.form);
    EXPECT_EQ(estimate.error, std::nullopt);
    EXPECT_THAT(estimate.bytes_estimated, Optional(44000));
    EXPECT_THAT(estimate.slices_estimated, Optional(20));
    EXPECT_THAT(estimate.dtype, Optional(std::string("f32")));
  }
  EXPECT_THAT(one.other_estimates[2].error, Optional(HasSubstr("no axis 'depth'")));
  EXPECT_EQ(one.other_estimates[2].bytes_estimated, std::nullopt);
}

// The estimator never answers, so it exceeds any limit.
TEST_F(ApiTest, AnEstimatorThatDoesNotAnswerCostsOnlyItsAnswer) {
  const std::filesystem::path fifo = folder_.path() / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(setenv("API_WORKER_FIFO", fifo.c_str(), 1), 0);
  const Answer answer = run(std::string(kDry) + "\"waits/estimator\"\n", {"--timeout", "0.3"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation one = observations().at("waits/estimator");
  EXPECT_EQ(one.outcome, Outcome::ok);
  EXPECT_THAT(one.requested_peak_bytes, Optional(44000));
  EXPECT_EQ(
      one.estimate->error,
      "no_answer_in_time: the estimator 'waiting' of waits/estimator did not answer within 0.3 s; make it "
      "faster, or raise the limit with --timeout");
  const Answer asked =
      ask({PEAKMARK_PROGRAM,
           {"estimate", "--run", run_file_.string(), "--worker", PEAKMARK_API_WORKER, "--seconds", "0.2"},
           environment(""),
           ""},
          std::chrono::seconds(60));
  unsetenv("API_WORKER_FIFO");
  EXPECT_EQ(asked.end.exit_code, 2);
  EXPECT_THAT(asked.output,
              HasSubstr("waits/estimator/dry: no_answer_in_time: estimator 'waiting' did not answer within "
                        "0.2 s; make it faster, or raise the limit with --seconds"));
}

// However soon it does.
TEST_F(ApiTest, AnEstimatorThatEndsItsWorkerIsNamedWithHow) {
  const std::map<std::string, std::string> ends{{"an estimator aborts", "signal SIGABRT (Aborted)"},
                                                {"an estimator exits", "exit code 0"},
                                                {"an estimator _exits", "exit code 7"},
                                                {"an estimator closes", "exit code 0"}};
  for (const auto& [mistake, end] : ends) {
    const Answer answer = run(std::string(kDry) + "\"bad/one\"\n", {}, mistake);
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
    EXPECT_THAT(answer.errors, HasSubstr("in the estimator 'ending' of bad/one: " + end));
    const Observation one = observations().at("bad/one");
    EXPECT_EQ(one.outcome, Outcome::ok);
    EXPECT_THAT(one.requested_peak_bytes, Optional(44000));
    EXPECT_THAT(one.estimate->error, Optional(HasSubstr("in the estimator 'ending' of bad/one: " + end)));
    const Answer asked = ask({PEAKMARK_PROGRAM,
                              {"estimate", "bad/one", "--worker", PEAKMARK_API_WORKER},
                              environment(mistake),
                              ""},
                             std::chrono::seconds(60));
    EXPECT_EQ(asked.end.exit_code, 2);
    EXPECT_THAT(asked.errors, AllOf(HasSubstr("died: its process ended with " + end),
                                    HasSubstr("by hand: echo '{\"variant\":\"bad/one\"")));
  }
}

TEST_F(ApiTest, AnEstimatorThatForksOrPrintsAnswers) {
  for (const std::string mistake : {"an estimator forks", "an estimator prints"}) {
    SCOPED_TRACE(mistake);
    const Answer answer = run(std::string(kDry) + "\"bad/one\"\naxes.n = [10, 20]\n", {}, mistake);
    EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
    const auto measured = read_run(run_file_).observations;
    ASSERT_EQ(measured.size(), 2U);
    EXPECT_THAT(measured[0].estimate->bytes_estimated, Optional(24000));
    EXPECT_THAT(measured[1].estimate->bytes_estimated, Optional(44000));
    const Answer asked =
        ask({PEAKMARK_PROGRAM,
             {"estimate", "--run", run_file_.string(), "--worker", PEAKMARK_API_WORKER, "--json"},
             environment(mistake),
             ""},
            std::chrono::seconds(60));
    EXPECT_EQ(asked.end.exit_code, 0) << asked.errors;
    const auto cases = nlohmann::json::parse(asked.output).at("cases");
    EXPECT_EQ(cases.at(0).at("estimate").at("bytes_estimated"), 24000);
    EXPECT_EQ(cases.at(1).at("estimate").at("bytes_estimated"), 44000);
  }
}

// The observation is written before, so only the answer cannot be reported.
TEST_F(ApiTest, AnEstimatorThatClosesThePipesOfItsWorkerCostsOnlyItsAnswer) {
  const Answer answer = run(std::string(kDry) + "\"bad/one\"\n", {}, "an estimator closes and answers");
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  const Observation one = observations().at("bad/one");
  EXPECT_THAT(one.requested_peak_bytes, Optional(44000));
  EXPECT_THAT(one.estimate->error, Optional(HasSubstr("died: ")));
}

// A case is made once before anything is measured.
TEST_F(ApiTest, AConstructorThatEndsItsWorkerIsNamedWithHow) {
  const Answer answer = run(std::string(kDry) + "\"bad/one\"\n", {}, "a constructor aborts");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, AllOf(HasSubstr("--check ended with signal SIGABRT"),
                                   HasSubstr("it gave no answer for bad/one/dry (")));
}

TEST_F(ApiTest, AnErrorInASuiteIsReportedBeforeAnythingIsMeasured) {
  const Answer answer = run(std::string(kDry) + "\"known/bytes\"\naxes.n = 21\naxes.mode = \"wrap\"\n");
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("wrap wants an even n"));
  EXPECT_FALSE(std::filesystem::exists(run_file_));
}

TEST_F(ApiTest, WhatAStepThrowsIsTheOutcome) {
  const Answer answer =
      run(std::string(kDry) +
          "[\"throws/out_of_memory\", \"throws/unsupported\", \"throws/error\", \"throws/number\"]\n");
  EXPECT_EQ(answer.end.exit_code, 3) << answer.errors;
  const auto measured = observations();
  EXPECT_EQ(measured.at("throws/out_of_memory").outcome, Outcome::out_of_memory);
  EXPECT_EQ(measured.at("throws/out_of_memory").message, "no memory for the plan");
  EXPECT_EQ(measured.at("throws/unsupported").outcome, Outcome::unsupported);
  EXPECT_EQ(measured.at("throws/error").outcome, Outcome::crashed);
  EXPECT_THAT(measured.at("throws/error").message, HasSubstr("the library answers 7"));
  EXPECT_EQ(measured.at("throws/number").outcome, Outcome::crashed);
}

// The message must not point to the suite.
TEST_F(ApiTest, AnErrorInTheProgramIsReportedAsTheProgramsError) {
  const std::map<std::string, std::string> messages{
      {"a constructor's axis",
       "what makes its cases (a constructor, or the function given to Worker::add) threw: the variant has no "
       "axis 'nz'; it has n, mode, offset, note ("},
      {"an axis in mistake",
       "its `mistake` threw: axis 'mode' is a word, not an integer: read it with word(); "},
      {"steps without a call", "threw: its Steps have no `call` ("}};
  for (const auto& [mistake, message] : messages) {
    SCOPED_TRACE(mistake);
    const Answer answer = run(std::string(kDry) + "\"bad/one\"\n", {}, mistake);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors,
                AllOf(HasSubstr(std::string("peakmark: ") + PEAKMARK_API_WORKER + ": variant bad/one: "),
                      HasSubstr(message), HasSubstr("the error is in the worker's program, not in the suite"),
                      HasSubstr("It was found at bad/one/dry (")));
    EXPECT_FALSE(std::filesystem::exists(run_file_));
  }
  const Answer unverified = run(std::string(kDry) + "\"throws/no_verify\"\n");
  EXPECT_EQ(unverified.end.exit_code, 2);
  EXPECT_THAT(unverified.errors, HasSubstr("its Steps have no `verify`"));
}

TEST_F(ApiTest, AnAxisDtypeThatIsNotUsedMayHaveAnyWords) {
  const Answer answer = run(std::string(kDry) + "\"bad/one\"\n", {}, "a dtype of its own");
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
}

TEST_F(ApiTest, AProgramOfAnotherVersionIsRefusedWithAdvice) {
  for (const char* mistake : {"a later minor", "a later major", "an earlier major"}) {
    const Answer answer = run(std::string(kDry) + "\"known/bytes\"\n", {}, mistake);
    EXPECT_EQ(answer.end.exit_code, 2) << mistake;
    EXPECT_THAT(answer.errors, AllOf(HasSubstr("of peakmark's API"), HasSubstr("compile it anew")))
        << mistake;
  }
}

// Versions older and newer than that of the command line. A later MINOR of the same MAJOR brings its own
// library and works.
TEST_F(ApiTest, AWorkerOnALibraryOfAnotherMajorIsRefusedWithWhatToDo) {
  nlohmann::json description = nlohmann::json::parse(worker({"--describe"}).output);
  const std::filesystem::path other = folder_.path() / "other_worker";
  const auto list = [&](const std::string& api) {
    description["api"] = api;
    description["later"] = "than this";
    std::ofstream(other) << "#!/bin/sh\ncase $1 in --check) exec " << PEAKMARK_API_WORKER
                         << " \"$@\" ;; esac\ncat <<'END'\n"
                         << description.dump() << "\nEND\n";
    std::filesystem::permissions(other, std::filesystem::perms::owner_all);
    return ask({PEAKMARK_PROGRAM,
                {"list", put(std::string(kDry) + "\"known/bytes\"\n").string(), "--worker", other.string()},
                current_environment(),
                ""},
               std::chrono::seconds(60));
  };
  for (const char* api : {"0.9", "2.3"}) {
    const Answer answer = list(api);
    EXPECT_EQ(answer.end.exit_code, 2);
    EXPECT_THAT(answer.errors, AllOf(HasSubstr(std::string("built on version ") + api + " of peakmark's API"),
                                     HasSubstr("only version 1.*"), HasSubstr("build the worker anew"),
                                     HasSubstr("run it with the peakmark that it was built against")));
  }
  const Answer later_minor = list("1.99");
  EXPECT_EQ(later_minor.end.exit_code, 0) << later_minor.errors;
  EXPECT_THAT(later_minor.output, HasSubstr("known/bytes/dry"));
}

TEST_F(ApiTest, MistakesOfAProgramAreMessages) {
  const std::map<std::string, std::string> messages{
      {"one name twice", "variant known/lambdas is registered twice; give one of them another name"},
      {"no backend", "variant bad/one names no backend"},
      {"no name", "malformed variant name 'bad': write OPERATION/WAY"},
      {"slices of words", "variant bad/one: slice axis 'mode' is not an integer axis"},
      {"nothing that makes", "variant bad/one: the function that makes its cases is empty"},
      {"a third dimension",
       "variant bad/one: its slice_dimension is 7; write 0 (projection) or 1 (sinogram)"},
      {"no such output dtype", "variant bad/one: its output_dtype: "},
      {"no such dtype", "variant bad/one: its axis dtype: "},
      {"no slice axis", "variant bad/one has an estimator and no slice_axis: name the integer axis"},
      {"two estimators of one name", "variant bad/one: two of its estimators are called 'own'"},
      {"crash at load", "--describe ended with signal SIGSEGV"}};
  for (const auto& [mistake, message] : messages) {
    const Answer answer = run(std::string(kDry) + "\"known/bytes\"\n", {}, mistake);
    EXPECT_EQ(answer.end.exit_code, 2) << mistake;
    EXPECT_THAT(answer.errors, HasSubstr(message)) << mistake;
  }
}

// An old and a new kernel: two workers in one run.

const std::string kOld = "old=" PEAKMARK_API_WORKER;
const std::string kNew = "new=" PEAKMARK_API_WORKER;

TEST_F(ApiTest, WorkersWithLabelsHaveTheirVariantsInOneRun) {
  const Answer answer =
      run(std::string(kDry) + "\"known/bytes\"\naxes.n = [20, 21]\n", {"--memory-only"}, "", {kOld, kNew});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors;
  const peakmark::Run measured = read_run(run_file_);
  EXPECT_EQ(measured.context.worker, "old=api test 1, new=api test 1");
  std::vector<std::string> names;
  for (const Observation& one : measured.observations) names.push_back(one.case_name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("known/bytes.old/dry", "known/bytes.old/dry/n:21",
                                                   "known/bytes.new/dry", "known/bytes.new/dry/n:21"));
  EXPECT_THAT(observations().at("known/bytes.new").requested_peak_bytes, Optional(46000));
  const Answer compared =
      ask({PEAKMARK_PROGRAM,
           {"compare", run_file_.string(), "--variants", "known/bytes.old", "known/bytes.new"},
           current_environment(),
           ""},
          std::chrono::seconds(60));
  EXPECT_EQ(compared.end.exit_code, 0) << compared.errors << compared.output;
  EXPECT_THAT(compared.output, HasSubstr("nothing regressed in 2 cases: 2 the same"));
}

TEST_F(ApiTest, ASuiteMayNameOneOfTheLabels) {
  ASSERT_EQ(run(std::string(kDry) + "\"known/*.new\"\n", {}, "", {kOld, kNew}).end.exit_code, 0);
  EXPECT_EQ(observations().count("known/bytes.new"), 1u);
  EXPECT_EQ(observations().count("known/bytes.old"), 0u);
}

TEST_F(ApiTest, RoundsInterleaveTheWorkers) {
  const Answer answer =
      run(std::string(kDry) + "\"known/lambdas\"\n",
          {"--rounds", "2", "--variants", "known/lambdas.old", "known/lambdas.new"}, "", {kOld, kNew});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_EQ(read_run(run_file_).observations.size(), 2u);
}

TEST_F(ApiTest, WorkersOfSeveralBuildTypesAreAWarningOfRunsWithTimes) {
  const std::filesystem::path debug = folder_.path() / "debug_worker";
  std::ofstream(debug) << "#!/bin/sh\ncase \"$*\" in *--describe*) " << PEAKMARK_API_WORKER
                       << " \"$@\" | sed 's/\"build\":\"[^\"]*\"/\"build\":\"Debug\"/' ;; *) exec "
                       << PEAKMARK_API_WORKER << " \"$@\" ;; esac\n";
  std::filesystem::permissions(debug, std::filesystem::perms::owner_all);
  const std::vector<std::string> both{kOld, "new=" + debug.string()};
  const auto warned = AllOf(HasSubstr("the workers are builds of different types (old="),
                            HasSubstr("new=Debug"), HasSubstr("build them alike"));
  const std::string suite = std::string(kDry) + "\"known/bytes\"\n";
  EXPECT_THAT(run(suite, {}, "", both).errors, warned);
  EXPECT_THAT(read_run(run_file_).context.warnings, testing::Contains(warned));
  EXPECT_THAT(run(suite, {}, "", {kOld, std::string("new=") + PEAKMARK_API_WORKER}).errors,
              testing::Not(HasSubstr("several kinds")));
  EXPECT_THAT(run(suite, {"--memory-only"}, "", both).errors, testing::Not(HasSubstr("several kinds")));
}

TEST_F(ApiTest, MistakesOfSeveralWorkersAreMessages) {
  const std::string suite = std::string(kDry) + "\"known/bytes\"\n";
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes{
      {{PEAKMARK_API_WORKER, PEAKMARK_API_WORKER}, "several workers need labels"},
      {{kOld, kOld}, "the label old is used twice"},
      {{kOld, "new=/no/such/worker"}, "--worker new=/no/such/worker: no such program"},
      {{kOld, "new=/bin/false"}, "must support --label"}};
  for (const auto& [workers, message] : mistakes) {
    const Answer answer = run(suite, {}, "", workers);
    EXPECT_EQ(answer.end.exit_code, 2) << message;
    EXPECT_THAT(answer.errors, HasSubstr(message));
  }
}

}  // namespace
}  // namespace peakmark
