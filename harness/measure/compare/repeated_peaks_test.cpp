#include "measure/compare/repeated_peaks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// At the peak, `images` images of 4 bytes and a buffer of 100 bytes are live.
RepeatedRun run(int images, const char* error = "", const char* ended_early = "") {
  LedgerSummary summary;
  summary.at_peak.resize(1);
  summary.at_peak[0].bytes = 100;
  summary.at_peak[0].kind = MemoryKind::buffer;
  for (int i = 0; i < images; ++i) {
    Allocation image;
    image.kind = MemoryKind::image;
    image.bytes = 4;
    summary.at_peak.push_back(image);
  }
  summary.peak_bytes = 100 + 4 * images;
  return {"p.run1", 0, error, ended_early, summary};
}

TEST(RepeatedPeaks, Agree) {
  const RepeatedPeaks peaks = repeated_peaks({run(3), run(3), run(3)});
  EXPECT_EQ(peaks.agree, true);
  EXPECT_EQ(peaks.max_bytes, 112);
  EXPECT_THAT(peaks.moved, IsEmpty());
  EXPECT_EQ(repeated_peaks_text(peaks, false), "3 of 3 runs recorded; the peaks agree: 112 B (112 B)\n");
}

TEST(RepeatedPeaks, WhatMovedIsNamedWhereTheyDiffer) {
  const RepeatedPeaks peaks = repeated_peaks({run(5), run(1), run(2)});
  EXPECT_EQ(peaks.agree, false);
  EXPECT_EQ(peaks.min_bytes, 104);
  EXPECT_EQ(peaks.max_bytes, 120);
  ASSERT_EQ(peaks.moved.size(), 1U);
  EXPECT_EQ(peaks.moved[0].kind, MemoryKind::image);
  EXPECT_EQ(peaks.moved[0].bytes, 4);
  EXPECT_THAT(peaks.moved[0].counts, ElementsAre(5, 1, 2));
  EXPECT_THAT(repeated_peaks_text(peaks, false),
              testing::AllOf(HasSubstr("the peaks differ: 104 B to 120 B"), HasSubstr("--sync")));
  EXPECT_THAT(repeated_peaks_text(peaks, true), Not(HasSubstr("--sync")));
}

TEST(RepeatedPeaks, ARunThatWasCutOffIsNotJudged) {
  const RepeatedPeaks peaks = repeated_peaks({run(5), run(5), run(1, "", "signal 9 (Killed)")});
  EXPECT_EQ(peaks.agree, true);
  EXPECT_EQ(peaks.min_bytes, 120);
  EXPECT_THAT(repeated_peaks_text(peaks, false),
              testing::AllOf(HasSubstr("2 of 3 runs recorded; the peaks agree"),
                             HasSubstr("run 3 ended early, its peak is not compared: signal 9 (Killed)\n")));
  const auto json = nlohmann::json(repeated_peaks_json(peaks, {"program"}));
  EXPECT_EQ(json["runs"][2]["error"], "signal 9 (Killed)");
  EXPECT_EQ(json["runs"][2]["requested_peak_bytes"], 104);
  EXPECT_THAT(repeated_peaks_text(repeated_peaks({run(5), run(1, "", "it was interrupted")}), false),
              testing::AllOf(HasSubstr("1 of 2 runs recorded: too few"), HasSubstr("run 2 ended early")));
  EXPECT_THAT(repeated_peaks_text(repeated_peaks({run(5), run(4), run(1, "", "signal 6 (Aborted)")}), false),
              testing::AllOf(HasSubstr("the peaks differ: 116 B to 120 B"), HasSubstr("run 3 ended early")));
}

TEST(RepeatedPeaks, ARunThatIsNotWholeIsNotJudged) {
  const RepeatedPeaks peaks = repeated_peaks({run(5), run(1, "no memory"), run(5)});
  EXPECT_EQ(peaks.agree, true);
  EXPECT_EQ(repeated_peaks({run(5)}).agree, std::nullopt);
  EXPECT_EQ(repeated_peaks({{"", 1, "no recorder", "", std::nullopt}}).max_bytes, std::nullopt);
  EXPECT_THAT(repeated_peaks_text(repeated_peaks({run(5), run(1, "no memory")}), false),
              HasSubstr("1 of 2 runs recorded: too few"));
}

TEST(RepeatedPeaks, Json) {
  RepeatedRun failed;
  failed.exit_code = 3;
  failed.error = "no recorder came up";
  const auto json = nlohmann::json(repeated_peaks_json(repeated_peaks({run(2), run(1), failed}), {"p", "x"}));
  EXPECT_EQ(json["program"], nlohmann::json({"p", "x"}));
  EXPECT_EQ(json["peaks_agree"], false);
  EXPECT_EQ(json["runs"][0]["requested_peak_bytes"], 108);
  EXPECT_TRUE(json["runs"][0]["error"].is_null());
  EXPECT_TRUE(json["runs"][2]["profile"].is_null());
  EXPECT_TRUE(json["runs"][2]["requested_peak_bytes"].is_null());
  EXPECT_EQ(json["runs"][2]["exit_code"], 3);
  EXPECT_EQ(json["moved"][0]["counts"], nlohmann::json({2, 1}));
  EXPECT_TRUE(nlohmann::json(repeated_peaks_json(repeated_peaks({failed}), {}))["peaks_agree"].is_null());
}

}  // namespace
}  // namespace peakmark
