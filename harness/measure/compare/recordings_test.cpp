#include "measure/compare/recordings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace peakmark {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Allocation live(const char* name, Size bytes, MemoryKind kind = MemoryKind::buffer) {
  Allocation one;
  one.name = name;
  one.kind = kind;
  one.bytes = bytes;
  return one;
}

LedgerSummary summary(std::vector<Allocation> at_peak, Size total, Size leaked = 0) {
  LedgerSummary one;
  for (const Allocation& allocation : at_peak) one.peak_bytes += allocation.bytes;
  one.allocations = static_cast<std::int64_t>(at_peak.size());
  one.total_bytes = total;
  one.live_at_end_bytes = leaked;
  one.at_peak = std::move(at_peak);
  return one;
}

TEST(CompareRecordings, OneByteMoreIsGrown) {
  const auto grown = compare_recordings({"a", "p", summary({live("x", 1000)}, 1000)},
                                        {"b", "q", summary({live("x", 1001)}, 1000)});
  EXPECT_TRUE(grown.peak_grew());
  EXPECT_EQ(grown.metrics.front().change, Change::grew);
  EXPECT_DOUBLE_EQ(*grown.metrics.front().relative, 0.001);
  EXPECT_EQ(grown.metrics[2].change, Change::same);
  EXPECT_THAT(comparison_table(grown), HasSubstr("the peak grew by 1 B (+0.10 %)"));

  const auto shrunk = compare_recordings(grown.next, grown.base);
  EXPECT_FALSE(shrunk.peak_grew());
  EXPECT_THAT(comparison_table(shrunk), HasSubstr("the peak shrank by 1 B"));
}

TEST(CompareRecordings, EqualRecordingsAreReportedAsEqual) {
  const auto same =
      compare_recordings({"a", "p", summary({live("x", 8)}, 8)}, {"b", "p", summary({live("x", 8)}, 8)});
  EXPECT_FALSE(same.peak_grew());
  EXPECT_THAT(comparison_table(same), HasSubstr("the peak is the same: 8 B"));
  EXPECT_THAT(comparison_table(same), HasSubstr("the same allocations are live"));
}

TEST(CompareRecordings, NothingIsRelativeToZero) {
  const auto grown = compare_recordings({"a", "p", summary({}, 0)}, {"b", "p", summary({live("", 5)}, 5)});
  EXPECT_FALSE(grown.metrics.front().relative.has_value());
  EXPECT_THAT(comparison_table(grown), HasSubstr("from 0"));
  const auto json = nlohmann::json(comparison_json(grown));
  EXPECT_TRUE(json["cases"][0]["relative"].is_null());
}

TEST(CompareRecordings, Json) {
  const auto json = nlohmann::json(
      comparison_json(compare_recordings({"a.peak", "old", summary({live("x", 100), live("y", 10)}, 500, 10)},
                                         {"b.peak", "new", summary({live("x", 100)}, 500)})));
  EXPECT_EQ(json["base"]["file"], "a.peak");
  ASSERT_EQ(json["cases"].size(), 5U);
  const auto& peak = json["cases"][0];
  EXPECT_EQ(peak["case"], "new");
  EXPECT_EQ(peak["metric"], "requested_peak_bytes");
  EXPECT_EQ(peak["base"], 110);
  EXPECT_EQ(peak["new"], 100);
  EXPECT_EQ(peak["verdict"], "shrank");
  EXPECT_TRUE(peak["interval"].is_null());
  ASSERT_EQ(peak["allocations"].size(), 1U);
  EXPECT_EQ(peak["allocations"][0],
            nlohmann::json::parse(R"({"name": "y", "kind": "buffer", "base_bytes": 10, "new_bytes": null,
                                      "count": 1, "text": "removed: y (buffer), 10 B"})"));
  EXPECT_EQ(json["cases"][1]["metric"], "leaked_bytes");
  EXPECT_EQ(json["cases"][1]["verdict"], "shrank");
  EXPECT_TRUE(json["cases"][1]["allocations"].is_null());
}

TEST(CompareRecordings, RefusedRequestsAreListedOfBothSides) {
  const Size huge = Size{1} << 40U;
  LedgerSummary base = summary({live("x", 8)}, 8);
  base.refused = {{huge, MemoryKind::buffer, -61, "call", 5, 1, {"make (program)"}},
                  {64, MemoryKind::svm, -4, "", 0, 2}};
  LedgerSummary next = summary({live("x", 8)}, 8);
  next.refused = {{huge, MemoryKind::buffer, -61, "call", 9, 3, {"make (program)"}}};
  const auto compared = compare_recordings({"a", "p", base}, {"b", "p", next});
  const auto json = nlohmann::json(comparison_json(compared));
  EXPECT_EQ(json.at("refused"), nlohmann::json::parse(R"json([
    {"bytes": 1099511627776, "kind": "buffer", "error": -61, "error_name": "CL_INVALID_BUFFER_SIZE",
     "phase": "call", "frames": ["make (program)"], "base_count": 1, "new_count": 3
},
    {"bytes": 64, "kind": "svm", "error": -4, "error_name": "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     "phase": "", "frames": null, "base_count": 2, "new_count": 0}])json"));
  const std::string table = comparison_table(compared);
  EXPECT_THAT(table,
              testing::ContainsRegex("1099511627776 +1 TiB +1 +3 +-61 CL_INVALID_BUFFER_SIZE +buffer"));
  EXPECT_THAT(table, HasSubstr("the same allocations are live"));
  EXPECT_THAT(table, HasSubstr("make (program)"));
}

TEST(CompareRecordings, AllowedGrowthIsNoRegression) {
  const Recorded base{"a", "p", summary({live("x", 1000)}, 1000)};
  const Recorded next{"b", "q", summary({live("x", 1001)}, 1000)};
  EXPECT_TRUE(compare_recordings(base, next).is_regression());
  const auto allowed = compare_recordings(base, next, parse_growth_allowance("1 B"));
  EXPECT_FALSE(allowed.is_regression());
  EXPECT_THAT(
      comparison_table(allowed),
      HasSubstr("the peak grew by 1 B (+0.10 %): 1000 B -> 1001 B\nallowed growth: 1 B (--allow-growth): the "
                "growth is allowed\n"));
  const auto json = nlohmann::json(comparison_json(allowed));
  EXPECT_EQ(json.at("allow_growth"), "1 B");
  EXPECT_EQ(json.at("cases").at(0).at("allowed"), true);
}

}  // namespace
}  // namespace peakmark
