#include "analyse/trend/accepted_levels.hpp"

#include <gmock/gmock.h>

#include "analyse/trend/sample_trends.hpp"

namespace peakmark::trend {
namespace {

constexpr const char* kAcceptedCase = "a/b/dry";

/// A device with two runs, of which the second was accepted, and a third that is judged.
class AcceptedLevels : public testing::Test {
 protected:
  AcceptedLevels() : history_(nightly_history(3)) {
    history_.series = {{kAcceptedCase, "estimate_ratio", {0.9, 1.2, 1.2}, {}, {}},
                       {kAcceptedCase, "leaked_bytes", {0.0, 16.0, 16.0}, {}, {}},
                       {kAcceptedCase, "requested_peak_bytes", {90.0, 120.0, 120.0}, {}, {}},
                       {kAcceptedCase, "setup_bytes", {10.0, 10.0, 10.0}, {}, {}}};
    history_.outcomes = {{kAcceptedCase, {"ok", "crashed", "ok"}}};
    Observation& one = run_.observations.emplace_back();
    one.case_name = kAcceptedCase;
    one.requested_peak_bytes = 120;
    one.setup_bytes = 10;
    one.leaked_bytes = 16;
    one.estimate = EstimateObservation{"own", "module", 1, 1, 100, "f32", std::nullopt};
  }

  void accept(const std::string& metric) {
    history_.acceptances = {{kAcceptedCase, metric, "run1", "ada", "2026-01-02T03:00:00Z", "it is needed"}};
  }
  /// Returns the verdict of a rule that fails.
  peakmark::Verdict judged(Rule rule, Judgement judgement = Judgement::fail) {
    std::vector<peakmark::Verdict> verdicts{{kAcceptedCase, rule, judgement,
                                             rule == Rule::window_bytes ? "own" : "", std::nullopt,
                                             std::nullopt, "grew"}};
    accept_verdicts(history_, run_, verdicts);
    return verdicts.front();
  }
  bool is_accepted(Rule rule, Judgement judgement = Judgement::fail) {
    return judged(rule, judgement).judgement == Judgement::warning;
  }
  Observation& observation() { return run_.observations.front(); }

  DeviceHistory history_;
  peakmark::Run run_;
};

TEST_F(AcceptedLevels, WithoutAnAcceptanceNothingChanges) {
  EXPECT_FALSE(is_accepted(Rule::window_bytes));
  accept("");
  EXPECT_FALSE(is_accepted(Rule::dtype)) << "a rule without a metric";
  history_.acceptances[0].case_name = "a/c/dry";
  EXPECT_FALSE(is_accepted(Rule::window_bytes));
}

TEST_F(AcceptedLevels, AreNamedWithTheirReason) {
  accept("");
  const peakmark::Verdict verdict = judged(Rule::window_bytes);
  EXPECT_EQ(verdict.advice, "accepted: 2026-01-02 by ada: it is needed; grew");
  EXPECT_EQ(verdict.reason(), "accepted");
}

TEST_F(AcceptedLevels, EstimatesMayNotBecomeWorse) {
  accept("estimate_ratio");
  EXPECT_TRUE(is_accepted(Rule::window_bytes));
  EXPECT_FALSE(is_accepted(Rule::leak)) << "another metric";
  observation().requested_peak_bytes = 121;
  EXPECT_FALSE(is_accepted(Rule::window_bytes));
  observation().requested_peak_bytes = 70;
  EXPECT_FALSE(is_accepted(Rule::window_bytes)) << "on the other side of 1";
  observation().requested_peak_bytes = 110;
  EXPECT_TRUE(is_accepted(Rule::window_bytes));
  observation().estimate->estimator = "theirs";
  EXPECT_FALSE(is_accepted(Rule::window_bytes)) << "of another estimator";
}

TEST_F(AcceptedLevels, BytesMayNotGrow) {
  accept("requested_peak_bytes");
  EXPECT_TRUE(is_accepted(Rule::baseline));
  observation().setup_bytes = 11;
  EXPECT_FALSE(is_accepted(Rule::baseline));
  observation().setup_bytes = 10;
  observation().requested_peak_bytes = 121;
  EXPECT_FALSE(is_accepted(Rule::baseline));
  accept("leaked_bytes");
  EXPECT_TRUE(is_accepted(Rule::leak));
  observation().leaked_bytes = 17;
  EXPECT_FALSE(is_accepted(Rule::leak));
}

TEST_F(AcceptedLevels, AnOutcomeIsTheSame) {
  accept("outcome");
  observation().outcome = Outcome::crashed;
  EXPECT_EQ(judged(Rule::outcome, Judgement::failed_measurement).judgement, Judgement::as_expected);
  observation().outcome = Outcome::timeout;
  EXPECT_EQ(judged(Rule::outcome, Judgement::failed_measurement).judgement, Judgement::failed_measurement);
}

}  // namespace
}  // namespace peakmark::trend
