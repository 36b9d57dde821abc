// Commands that run a CUDA program several times, as a user calls them: `oom`, `fit` and budgets. The device
// that peakmark lists is the first one of OpenCL: the CUDA runtime, which lists NVIDIA's devices, refuses a
// fake driver.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/program.hpp"
#include "record/subprocess/worker_process.hpp"

namespace peakmark {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::int64_t kMega = 1'000'000;

class WholeRuns : public testing::Test {
 protected:
  static Answer peakmark(std::vector<std::string> words) {
    WorkerCommand command{PEAKMARK_COMMAND, std::move(words), current_environment(), ""};
    set_variable(command.environment, "LD_LIBRARY_PATH", PEAKMARK_FAKES "/cupti13:" PEAKMARK_FAKES);
    set_variable(command.environment, "POCL_MEMORY_LIMIT", "2");
    return ask(command, std::chrono::minutes(5));
  }
  json refuse(const std::vector<std::string>& options, std::vector<std::string> program, int code) const {
    std::vector<std::string> words{"oom", "--json", "--compare-output", result_};
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back("--");
    words.insert(words.end(), program.begin(), program.end());
    const Answer answer = peakmark(std::move(words));
    EXPECT_EQ(answer.end.exit_code, code) << answer.errors << answer.output;
    return answer.output.empty() ? json() : json::parse(answer.output);
  }
  void expect_outcome(const std::string& behaviour, const std::string& outcome, const json& program_code,
                      const std::vector<std::string>& options = {}) const {
    const bool is_failure = outcome == "crashed" || outcome == "wrong_result";
    const json report = refuse(options, {PEAKMARK_PLANTED_PROGRAM, behaviour, result_}, is_failure ? 1 : 0);
    EXPECT_EQ(report["allocations"], 3);
    ASSERT_EQ(report["refusals"].size(), 3U) << behaviour;
    std::int64_t kib = 64;
    for (const json& one : report["refusals"]) {
      EXPECT_EQ(one["outcome"], outcome) << behaviour << ": " << one;
      EXPECT_EQ(one["exit_code"], program_code) << behaviour << ": " << one;
      EXPECT_EQ(one["bytes"], kib << 10);
      kib = kib == 64 ? 128 : 32;
    }
  }
  json shown(const std::string& profile) const {
    return json::parse(peakmark({"show", "--json", profile}).output);
  }

  ScratchFolder folder_;
  std::string result_ = (folder_.path() / "result.txt").string();
  std::string profile_ = (folder_.path() / "p").string();
};

TEST_F(WholeRuns, OomClassifiesHowACudaProgramTakesEachRefusal) {
  expect_outcome("handled", "handled", 1);
  expect_outcome("silent", "crashed", 3);
  expect_outcome("abort", "crashed", nullptr);
  expect_outcome("kill", "crashed", nullptr);
  expect_outcome("retry", "retried", 0);
  expect_outcome("smaller", "retried", 0);
  expect_outcome("without", "retried", 0);
  expect_outcome("wrong", "wrong_result", 0);
}

TEST_F(WholeRuns, OomKeepsTheDeviceFullUntilTheProgramReleasesMemory) {
  expect_outcome("retry_or_wrong", "wrong_result", 0);
  expect_outcome("retry_or_wrong", "retried", 0, {"--once"});
  const json collecting = refuse({}, {PEAKMARK_PLANTED_PROGRAM, "collect", result_}, 0)["refusals"];
  ASSERT_EQ(collecting.size(), 3U);
  EXPECT_EQ(collecting[0]["outcome"], "handled") << "nothing was live yet";
  EXPECT_EQ(collecting[1]["outcome"], "handled") << "it releases 64 of 128 KiB";
  EXPECT_EQ(collecting[2]["outcome"], "retried");
  EXPECT_EQ(collecting[2]["message"], "allocated it again");
}

TEST_F(WholeRuns, OomOfACudaProgramNamesItsLeaks) {
  const json refusals = refuse({}, {PEAKMARK_PLANTED_PROGRAM, "leak", result_}, 0)["refusals"];
  ASSERT_EQ(refusals.size(), 3U);
  EXPECT_EQ(refusals[0]["outcome"], "retried") << "nothing was live yet";
  EXPECT_EQ(refusals[1]["outcome"], "leaked");
  EXPECT_EQ(refusals[1]["leaked_bytes"], 64 << 10);
  EXPECT_EQ(refusals[2]["leaked_bytes"], (64 + 128) << 10);
}

TEST_F(WholeRuns, OomRefusesInChildProcessesAndInJobs) {
  const std::string file = (folder_.path() / "result-{job}.txt").string();
  std::vector<std::string> words{
      "oom", "--json", "--jobs", "2",
      "--",  "sh",     "-c",     fmt::format("{} handled {}; exit $?", PEAKMARK_PLANTED_PROGRAM, file)};
  const Answer answer = peakmark(words);
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors << answer.output;
  const json refusals = json::parse(answer.output)["refusals"];
  ASSERT_EQ(refusals.size(), 3U);
  for (const json& one : refusals) {
    EXPECT_EQ(one["outcome"], "handled");
    EXPECT_EQ(one["last_lines"], json({"error: out of device memory"}));
    EXPECT_EQ(one["leaked_bytes"], one["allocation"] == 1   ? 0
                                   : one["allocation"] == 2 ? 64 << 10
                                                            : (64 + 128) << 10);
  }
}

/// The driver may allocate in steps of 2 MiB; 64 MiB are 67,108,864 bytes.
TEST_F(WholeRuns, FitFindsTheLargestBatchOfACudaProgram) {
  const Answer answer = peakmark({"fit", "n=1..4000", "--budget", "64MiB", "--prove", "--json", "--",
                                  PEAKMARK_PLANTED_PROGRAM, "batch", "{n}"});
  ASSERT_EQ(answer.end.exit_code, 0) << answer.errors << answer.output;
  const json fit = json::parse(answer.output);
  EXPECT_EQ(fit["value"], 62);
  EXPECT_EQ(fit["recorded_bytes"], 67 * kMega);
  EXPECT_EQ(fit["proven"], true);
  EXPECT_EQ(fit["out_of_memory"], 1) << "the trial above the answer";
  EXPECT_LE(fit["trials"].size(), 5U);
  const json& above = fit["trials"].back();
  EXPECT_EQ(above["value"], 63);
  EXPECT_EQ(above["outcome"], "out_of_memory");
}

TEST_F(WholeRuns, FitOfACudaProgramThatNeverFits) {
  const Answer answer = peakmark(
      {"fit", "n=1..4000", "--budget", "4MiB", "--json", "--", PEAKMARK_PLANTED_PROGRAM, "batch", "{n}"});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors << answer.output;
}

TEST_F(WholeRuns, ABudgetIsListedWithWhatItRefused) {
  const Answer answer = peakmark(
      {"record", "--budget", "64MiB", "-o", profile_, "--", PEAKMARK_PLANTED_PROGRAM, "batch", "63"});
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  const json profile = shown(profile_);
  EXPECT_EQ(profile["requested"]["peak_bytes"], 5 * kMega);
  ASSERT_EQ(profile["refused"].size(), 1U);
  EXPECT_EQ(profile["refused"][0]["bytes"], 63 * kMega);
  EXPECT_EQ(profile["refused"][0]["refused_by"], "budget");
}

TEST_F(WholeRuns, AnAllocationMayBeTooLargeForTheDevice) {
  const auto recorded = [&](const char* limit) {
    return peakmark(
        {"record", "--max-allocation", limit, "-o", profile_, "--", PEAKMARK_PLANTED_PROGRAM, "batch", "63"});
  };
  const Answer answer = recorded("62999999");
  EXPECT_EQ(answer.end.exit_code, 1) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  const json profile = shown(profile_);
  ASSERT_EQ(profile["refused"].size(), 1U);
  EXPECT_EQ(profile["refused"][0]["bytes"], 63 * kMega);
  EXPECT_EQ(profile["refused"][0]["refused_by"], "max_allocation");
  const Answer fits = recorded("63MB");
  EXPECT_EQ(fits.end.exit_code, 0) << fits.errors;
  EXPECT_TRUE(shown(profile_)["refused"].empty());
}

TEST_F(WholeRuns, ABudgetMayBeAShareOfTheDevice) {
  std::int64_t memory = 0;
  const json listed = json::parse(peakmark({"devices", "--json"}).output);
  for (const json& device : listed["devices"]) {
    if (device["backend"] == "opencl" && memory == 0) memory = device["memory_bytes"];
  }
  ASSERT_GT(memory, 0);
  constexpr std::int64_t kStep = 2 << 20;
  const std::int64_t budget = (memory / 100 * 90 + memory % 100 * 90 / 100) / kStep * kStep;
  const Answer answer =
      peakmark({"record", "--budget", "90%", "-o", profile_, "--", PEAKMARK_PROCESS_PROGRAM, "fill"});
  EXPECT_EQ(answer.end.exit_code, 0) << answer.errors;
  EXPECT_THAT(answer.output,
              HasSubstr(fmt::format("{} of 4294967296 free, got {}\n", budget, budget / kMega * kMega)));
}

TEST_F(WholeRuns, ABudgetOfWhatIsFreeNeedsADeviceThatReportsIt) {
  const Answer answer =
      peakmark({"record", "--budget", "free-1GiB", "-o", profile_, "--", PEAKMARK_PROCESS_PROGRAM, "fill"});
  EXPECT_EQ(answer.end.exit_code, 2);
  EXPECT_THAT(answer.errors, HasSubstr("the free memory of "));
}

}  // namespace
}  // namespace peakmark
