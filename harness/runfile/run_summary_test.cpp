#include "runfile/run_summary.hpp"

#include <gtest/gtest.h>

#include "runfile/run_example.hpp"

namespace peakmark {
namespace {

peakmark::Run run_of(const std::vector<std::pair<Outcome, std::string>>& cases) {
  peakmark::Run run;
  for (const auto& [outcome, expected] : cases) {
    PlannedCase planned;
    planned.name = "case" + std::to_string(run.context.planned.size());
    planned.expected_outcome = expected;
    run.context.planned.push_back(planned);
    run.observations.push_back(example_observation(planned.name));
    run.observations.back().outcome = outcome;
  }
  return run;
}

TEST(RunSummary, CountsOutcomes) {
  EXPECT_EQ(summary(run_of({{Outcome::ok, "ok"}, {Outcome::crashed, "ok"}, {Outcome::ok, "ok"}})),
            "3 cases: 2 ok, 1 crashed");
}

TEST(RunSummary, CasesWithoutAMeasurementAreSkippedAndExpectedOutcomesAreNamed) {
  EXPECT_EQ(summary(run_of({{Outcome::unsupported, "ok"},
                            {Outcome::ok, "ok"},
                            {Outcome::out_of_memory, "out_of_memory"},
                            {Outcome::out_of_memory, "ok"},
                            {Outcome::unsupported, "unsupported"}})),
            "5 cases: 1 ok, 1 as expected (1 out_of_memory), 3 skipped (1 out_of_memory, 2 unsupported)");
}

TEST(RunSummary, FailedMeasurementsGiveTheirExitCodeUnlessExpected) {
  EXPECT_EQ(exit_code_of(run_of({{Outcome::ok, "ok"}})), ExitCode::clean);
  for (const Outcome failure : {Outcome::crashed, Outcome::timeout, Outcome::wrong_answer}) {
    EXPECT_EQ(exit_code_of(run_of({{Outcome::ok, "ok"}, {failure, "ok"}})), ExitCode::measurement);
    EXPECT_EQ(exit_code_of(run_of({{failure, std::string(to_string(failure))}})), ExitCode::clean);
  }
  EXPECT_EQ(exit_code_of(run_of({{Outcome::crashed, "timeout"}})), ExitCode::measurement);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::out_of_memory, "ok"}, {Outcome::ok, "ok"}})), ExitCode::clean);
}

TEST(RunSummary, NothingWasMeasuredWhenNothingIsSupportedOrFits) {
  EXPECT_EQ(exit_code_of(run_of({{Outcome::out_of_memory, "ok"}, {Outcome::unsupported, "ok"}})),
            ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::out_of_memory, "out_of_memory"}})), ExitCode::clean);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::unsupported, "unsupported"}})), ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({})), ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::unsupported, "ok"}, {Outcome::unsupported, "ok"}})),
            ExitCode::nothing);
  EXPECT_EQ(exit_code_of(run_of({{Outcome::unsupported, "ok"}, {Outcome::ok, "ok"}})), ExitCode::clean);
}

}  // namespace
}  // namespace peakmark
