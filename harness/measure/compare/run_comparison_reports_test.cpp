// Comparisons written as JSON and markdown.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measure/compare/sample_measured_run.hpp"

namespace peakmark {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(ComparisonJson, HasTheContractsKeys) {
  MeasuredRun measured;
  time(measured.add("pad/old", 1), 1e6);
  time(measured.add("pad/new", 1, 1256), 1.2e6);
  measured.rounds(false);
  const auto json = nlohmann::json(comparison_json(compare_sample_variants(measured)));
  EXPECT_EQ(json["exit_code"], 1);
  for (const auto& row : json["cases"]) {
    for (const char* key :
         {"case", "metric", "base", "new", "relative", "interval", "verdict", "allocations"}) {
      EXPECT_TRUE(row.contains(key)) << key;
    }
  }
  const auto& peak = json["cases"][0];
  EXPECT_EQ(peak["verdict"], "grew");
  EXPECT_EQ(peak["allocations"][0],
            nlohmann::json::parse(R"({"name": "input", "kind": "buffer", "base_bytes": 1000,
                                      "new_bytes": 1256, "count": 1,
                                      "text": "grew: input (buffer), 1000 -> 1256 B"})"));
  const auto& time = json["cases"].back();
  EXPECT_EQ(time["metric"], "gpu_time_ns");
  EXPECT_NEAR(time["relative"].get<double>(), 0.2, 1e-9);
  EXPECT_LT(time["interval"][0].get<double>(), 0.2);
}

TEST(ComparisonMarkdown, HasTheVerdictFirstAndNothingThatBreaksATable) {
  MeasuredRun base;
  base.add("pad/old", 1);
  MeasuredRun next;
  Observation& odd = next.add("pad/old", 1, 2000);
  odd.case_name = base.run().observations[0].case_name = "pad/old/`|x\n<b>";
  odd.at_peak = {{"a|b<script>\n", "buffer", 2000}};
  const std::string text = comparison_markdown(compare_runs(base.get(), next.get(), false));
  EXPECT_THAT(text, StartsWith("**Action needed.** 1 of 1 case regressed"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("<script>")), HasSubstr("a\\|b&lt;script> (buffer)"),
                          HasSubstr("`pad/old/ˋ¦x <b>`")));
  EXPECT_THAT(comparison_markdown(compare_runs(base.get(), base.get(), false)),
              StartsWith("**No action needed.** "));
}

TEST(ComparisonTable, AdviceOnTimesIsPrintedOnceBelowTheTable) {
  MeasuredRun base;
  MeasuredRun next;
  for (Size n = 1; n <= 3; ++n) {
    time(base.add("pad/old", n), 1e6);
    time(next.add("pad/old", n), 2e6);
  }
  const std::string text = comparison_table(compare_runs(base.get(), next.get(), false));
  const std::string advice = "  3 cases: time: measure both sides interleaved: ";
  EXPECT_THAT(text, AllOf(HasSubstr("\nsuspicious\n"), HasSubstr(advice)));
  EXPECT_EQ(text.find("interleaved: `"), text.rfind("interleaved: `"));
}

// A table shows the first cases of a group, which are those that changed most.
TEST(ComparisonTable, TheWorstCasesOfAGroupAreFirst) {
  MeasuredRun base;
  MeasuredRun next;
  for (Size n = 1; n <= 100; ++n) {
    base.add("pad/old", n, 1'000'000);
    next.add("pad/old", n, 1'000'000 + n * 10);
  }
  next.run().observations[4].outcome = Outcome::out_of_memory;
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  for (const std::string& text : {comparison_table(comparison), comparison_markdown(comparison)}) {
    const std::size_t lost = text.find("n:5");
    const std::size_t largest = text.find("n:100");
    const std::size_t second = text.find("n:99");
    ASSERT_NE(second, std::string::npos) << text;
    EXPECT_LT(lost, largest);
    EXPECT_LT(largest, second);
  }
  EXPECT_THAT(comparison_table(comparison), Not(HasSubstr("peak grew by 10 B")));
  EXPECT_EQ(comparison.cases.front().name, base.get().run.observations.front().case_name)
      << "JSON has the order of the suite";
}

TEST(CompareRuns, ACaseWithoutThePeakThatItHadIsARegression) {
  MeasuredRun base;
  base.add("pad/old", 20);
  MeasuredRun next;
  Observation& without = next.add("pad/old", 20);
  without.requested_peak_bytes = without.second_pass_peak_bytes = std::nullopt;
  const RunComparison comparison = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(comparison), ExitCode::verdict);
  EXPECT_THAT(comparison_table(comparison),
              AllOf(HasSubstr("regressed"), HasSubstr("peak: 1000 B -> unknown")));
  EXPECT_EQ(exit_code_of(compare_runs(next.get(), base.get(), false)), ExitCode::clean);
}

TEST(ComparisonMarkdown, StaysSmall) {
  MeasuredRun base;
  MeasuredRun next;
  for (Size n = 1; n <= 8000; ++n) {
    base.add("pad/old", n);
    next.add("pad/old", n, 2000);
  }
  const std::string text = comparison_markdown(compare_runs(base.get(), next.get(), false));
  EXPECT_LT(text.size(), 1'000'000U);
  EXPECT_THAT(text, HasSubstr("more rows not shown"));
}

TEST(CompareRuns, AllowedGrowthFailsNothingAndIsReportedInEveryForm) {
  MeasuredRun base;
  base.add("pad/old", 20, 1'363'149);
  MeasuredRun next;
  next.add("pad/old", 20, 1'363'150);
  const RunComparison exact = compare_runs(base.get(), next.get(), false);
  EXPECT_EQ(exit_code_of(exact), ExitCode::verdict);
  EXPECT_THAT(comparison_table(exact), HasSubstr("  1.3 MiB -> 1.3 MiB +1 B ("));
  EXPECT_EQ(nlohmann::json(comparison_json(exact)).at("allow_growth"), "0 B");
  const RunComparison allowed = compare_runs(base.get(), next.get(), false, parse_growth_allowance("0.1%"));
  EXPECT_EQ(exit_code_of(allowed), ExitCode::clean);
  EXPECT_THAT(headline(allowed), StartsWith("nothing regressed in 1 case: 1 changed otherwise"));
  for (const std::string& text : {comparison_table(allowed), comparison_markdown(allowed)}) {
    EXPECT_THAT(text,
                AllOf(HasSubstr("allowed growth: 0.1% (--allow-growth)"), HasSubstr("peak grew (allowed)"),
                      HasSubstr("peak grew by 1 B: 1363149 -> 1363150 B; allowed by --allow-growth")));
  }
  const auto json = nlohmann::json(comparison_json(allowed));
  EXPECT_EQ(json.at("allow_growth"), "0.1%");
  EXPECT_EQ(json.at("exit_code"), 0);
  EXPECT_EQ(json.at("cases")[0].at("verdict"), "grew") << "bytes are exact";
  EXPECT_EQ(json.at("cases")[0].at("status"), "changed");
  EXPECT_EQ(nlohmann::json(comparison_json(exact)).at("cases")[0].at("status"), "regressed");
  EXPECT_EQ(json.at("cases")[0].at("allowed"), true);
}

}  // namespace
}  // namespace peakmark
