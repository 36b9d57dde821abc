#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/files.hpp"
#include "fit/oom_run.hpp"

namespace peakmark {
namespace {

using enum RefusalOutcome;
using testing::HasSubstr;

/// Programs that are built to take a refused buffer in a certain way (planted_program.cpp).
class OomPrograms : public testing::Test {
 protected:
  OomReport refuse(const std::string& behaviour, bool is_result_compared = true) const {
    OomRequest request;
    const std::filesystem::path result = folder_.path() / "result.txt";
    request.command = {PEAKMARK_PLANTED_PROGRAM, behaviour, result.string()};
    if (is_result_compared) request.compared_output = result;
    request.sweep.case_limit = {std::chrono::milliseconds(behaviour == "hang" ? 3000 : 60'000), {}};
    return refuse_allocations(request, [](std::size_t, std::size_t) {});
  }
  void expect_outcome(const std::string& behaviour, RefusalOutcome outcome,
                      std::optional<int> exit_code) const {
    const OomReport report = refuse(behaviour);
    EXPECT_EQ(report.allocations, 3);
    ASSERT_EQ(report.refusals.size(), 3U) << behaviour;
    for (const Refusal& one : report.refusals) {
      EXPECT_EQ(one.outcome, outcome) << behaviour << " " << one.index << ": " << one.message;
      EXPECT_EQ(one.exit_code, exit_code) << behaviour << " " << one.index;
    }
    EXPECT_EQ(report.refusals[1].bytes, 128 << 10);
  }

  ScratchFolder folder_;
};

TEST_F(OomPrograms, EveryPlantedBehaviourIsClassified) {
  expect_outcome("handled", handled, 1);
  expect_outcome("handled_code", handled, 2);
  expect_outcome("silent_exit", crashed, 3);
  expect_outcome("misleading", crashed, 1);
  expect_outcome("abort", crashed, std::nullopt);
  expect_outcome("crash", crashed, std::nullopt);
  expect_outcome("retry", retried, 0);
  expect_outcome("smaller", retried, 0);
  expect_outcome("without", retried, 0);
  expect_outcome("wrong", wrong_result, 0);
  expect_outcome("no_result", wrong_result, 0);
}

TEST_F(OomPrograms, AProgramThatHangsIsEnded) {
  expect_outcome("hang", hung, std::nullopt);
}

TEST_F(OomPrograms, ALeakHasItsBytes) {
  const OomReport report = refuse("leak");
  ASSERT_EQ(report.refusals.size(), 3U);
  EXPECT_EQ(report.refusals[0].outcome, retried) << "nothing was live yet";
  EXPECT_EQ(report.refusals[1].outcome, leaked);
  EXPECT_EQ(report.refusals[1].message, "65536 bytes more live at the end");
  EXPECT_EQ(report.refusals[2].outcome, leaked);
}

TEST_F(OomPrograms, WithoutAComparedFileAWrongResultIsNotSeen) {
  EXPECT_EQ(refuse("wrong", false).refusals[0].outcome, retried);
}

TEST_F(OomPrograms, RefusesAProgramThatFailsWithoutARefusal) {
  OomRequest request;
  request.command = {"false"};
  try {
    refuse_allocations(request, [](std::size_t, std::size_t) {});
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("without a refusal, the case ends with crashed"));
  }
}

}  // namespace
}  // namespace peakmark
