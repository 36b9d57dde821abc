// A comparison as JSON and markdown.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "compare/measured_run.hpp"

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
  const auto json = nlohmann::json::parse(comparison_json(of_variants(measured)));
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
            nlohmann::json::parse(R"({"name": "input", "kind": "buffer", "bytes": 1000,
                                                              "base_count": 1, "new_count": 0})"));
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

TEST(ComparisonMarkdown, StaysSmall) {
  MeasuredRun base;
  MeasuredRun next;
  for (Size n = 1; n <= 8000; ++n) {
    base.add("pad/old", n);
    next.add("pad/old", n, 2000);
  }
  const std::string text = comparison_markdown(compare_runs(base.get(), next.get(), false));
  EXPECT_LT(text.size(), 1'000'000U);
  EXPECT_THAT(text, HasSubstr("more rows were left out"));
}

}  // namespace
}  // namespace peakmark
