#include "analyse/fit/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace peakmark {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Memory falls at 300, where the program changes to an algorithm without temporaries.
FitReport sample_report() {
  FitReport report;
  report.variant = "sort/merge";
  report.backend = "dry";
  report.device = "dry";
  report.axis = "n";
  report.fixed = {{"dtype", "f32"}};
  report.range = {1, 1000, 1};
  report.budget_bytes = 10'000;
  report.predictor = Predictor::formula;
  report.formula = "max(40·n, …)";
  report.trials = {{400, 10'000, 10'000, "ok", ""},
                   {401, std::nullopt, 10'025, "out_of_memory", "refused 401 bytes"}};
  report.intervals = {{1, 250}, {300, 400}};
  report.value = 400;
  report.chunks = plan_chunks(1000, 400);
  report.last_chunk_bytes = 8000;
  return report;
}

TEST(FitReport, SaysFromWhereTheAnswerHolds) {
  const std::string text = fit_text(sample_report(), false);
  EXPECT_THAT(text, HasSubstr("largest n: 400, which ran with 9.766 KiB of 9.766 KiB (100.00 %)"));
  EXPECT_THAT(text, HasSubstr("401 was run, and exceeds the budget"));
  EXPECT_THAT(text, HasSubstr("the answer holds from 300 on; --all lists 2 intervals"));
  EXPECT_THAT(text, HasSubstr("1000 slices: 3 chunks of 400, the last of 200 (7.812 KiB in the last)"));
  EXPECT_THAT(fit_text(sample_report(), true), HasSubstr("    1 to 250\n    300 to 400\n"));
}

TEST(FitReport, NamesTheLimitOfOneAllocation) {
  FitReport report = sample_report();
  report.budget_bytes = 100'000;
  report.max_allocation = 9000;
  report.trials[0].largest_allocation = 9000;
  report.trials[1].largest_allocation = 9001;
  const std::string text = fit_text(report, false);
  EXPECT_THAT(text, HasSubstr("the limit is that of one allocation: the largest has 8.789 KiB of 8.789 KiB"));
  EXPECT_THAT(text, HasSubstr("401 was run, and asks for 8.79 KiB in one allocation"));
  EXPECT_TRUE(report.is_proven());
  const auto json = nlohmann::json::parse(fit_json(report));
  EXPECT_EQ(json["max_allocation_bytes"], 9000);
  EXPECT_EQ(json["trials"][1]["largest_allocation_bytes"], 9001);
}

TEST(FitReport, ASingleIntervalNeedsNoWord) {
  FitReport report = sample_report();
  report.intervals.erase(report.intervals.begin());
  EXPECT_THAT(fit_text(report, true), Not(HasSubstr("by the formula")));
}

TEST(FitReport, ATrialThatCrashesProvesNothing) {
  FitReport report = sample_report();
  EXPECT_TRUE(report.is_proven());
  report.trials.back().outcome = "timeout";
  EXPECT_FALSE(report.is_proven());
}

TEST(FitReport, JsonCountsRunsOutOfMemory) {
  const auto json = nlohmann::json::parse(fit_json(sample_report()));
  EXPECT_EQ(json["out_of_memory"], 1);
  EXPECT_EQ(json["trials"][1]["recorded_bytes"], nullptr);
  EXPECT_EQ(json["trials"][1]["message"], "refused 401 bytes");
  EXPECT_EQ(json["intervals"][1]["first"], 300);
  EXPECT_EQ(json["chunks"]["last_slices"], 200);
}

TEST(FitReport, SeveralValuesOfAnotherAxisAreATable) {
  FitReport small = sample_report();
  FitReport large = sample_report();
  small.fixed.emplace_back("m", "8");
  large.fixed.emplace_back("m", "16");
  large.value.reset();
  large.notes = {"n=1: crashed: signal 11"};
  const std::string text = fit_text({small, large}, "m");
  EXPECT_THAT(text, HasSubstr(" 8           400"));
  EXPECT_THAT(text, HasSubstr("16  nothing fits"));
  EXPECT_THAT(text, HasSubstr("crashed: signal 11"));
  EXPECT_THAT(text, Not(HasSubstr("m=8")));
  const auto json = nlohmann::json::parse(fit_json({small, large}, "m"));
  EXPECT_EQ(json["other_axis"], "m");
  EXPECT_EQ(json["fits"][0]["axes"]["m"], "8");
  EXPECT_TRUE(json["fits"][1]["value"].is_null());
}

TEST(FitReport, NothingThatFitsIsNull) {
  FitReport report = sample_report();
  report.value.reset();
  report.chunks.reset();
  report.trials = {{1, std::nullopt, std::nullopt, "out_of_memory", ""}};
  EXPECT_THAT(fit_text(report, false), HasSubstr("nothing fits: n = 1 does not run within"));
  const auto json = nlohmann::json::parse(fit_json(report));
  EXPECT_TRUE(json["value"].is_null());
  EXPECT_TRUE(json["recorded_bytes"].is_null());
  EXPECT_EQ(json["confirmed"], false);
}

}  // namespace
}  // namespace peakmark
