#include "analyse/history/exports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/text_file.hpp"

namespace peakmark::history {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

trend::HistoryRun sample(const std::string& id, const std::string& date) {
  trend::HistoryRun run;
  run.id = id;
  run.date = date;
  run.commit = "c" + id;
  run.branch = "main";
  run.environment = {{"kernel", "Linux"}};
  return run;
}

trend::DeviceHistory gpu() {
  trend::DeviceHistory device;
  device.device = "GPU";
  device.backend = "opencl";
  device.runs = {sample("1", "2026-01-01T02:00:00Z"), sample("3", "2026-01-03T02:00:00Z")};
  device.series = {{"op/a/opencl", "gpu_time_ns", {0.1, std::nullopt}, {}},
                   {"op/a/opencl", "requested_peak_bytes", {9007199254740992.0, 12.0}, {}}};
  device.outcomes = {{"op/a/opencl", {"ok", "ok"}}, {"op/b/opencl/m:\"x,y\"", {std::nullopt, "crashed"}}};
  return device;
}

trend::DeviceHistory cpu() {
  trend::DeviceHistory device = gpu();
  device.device = "CPU";
  device.runs = {sample("2", "2026-01-02T02:00:00Z"), sample("4", "2026-01-04T02:00:00Z")};
  return device;
}

std::vector<Json> lines_of(const TextWriter& write) {
  std::stringstream stream;
  write([&](std::string_view text) { stream << text; });
  std::vector<Json> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

TEST(Exports, CsvHasALineARunAndAColumnAMetric) {
  EXPECT_EQ(series_csv(gpu()),
            "time,commit,run,op/a/opencl gpu_time_ns,op/a/opencl requested_peak_bytes\n"
            "2026-01-01T02:00:00Z,c1,1,0.1,9007199254740992\n"
            "2026-01-03T02:00:00Z,c3,3,,12\n");
  trend::DeviceHistory strange = gpu();
  strange.runs[0].commit = "a,\"b\"";
  strange.series.resize(1);
  EXPECT_THAT(series_csv(strange), HasSubstr("Z,\"a,\"\"b\"\"\",1,0.1\n"));
  strange.runs[0].commit = "=cmd()";
  strange.series[0].case_name = "@SUM(1,2)";
  EXPECT_EQ(series_csv(strange).substr(0, 71),
            "time,commit,run,\"'@SUM(1,2) gpu_time_ns\"\n2026-01-01T02:00:00Z,'=cmd(),1");
  EXPECT_THAT(otava_configuration(strange, "x.csv"), HasSubstr("{column: \"'@SUM(1,2) gpu_time_ns\""));
}

TEST(Exports, WhatIsChosen) {
  ExportChoice choice;
  choice.metrics = {"gpu_time_ns"};
  EXPECT_EQ(chosen(gpu(), choice).series.size(), 1U);
  choice.without_gaps = true;
  EXPECT_EQ(chosen(gpu(), choice).series.size(), 0U);
  choice = {};
  choice.filter = "op/b/.*";
  EXPECT_EQ(chosen(gpu(), choice).series.size(), 0U);
  EXPECT_EQ(chosen(gpu(), choice).outcomes.size(), 1U);
  choice.filter = "(";
  EXPECT_THROW(chosen(gpu(), choice), UsageError);
  choice = {};
  choice.metrics = {"gpu_time"};
  try {
    chosen(gpu(), choice);
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'gpu_time': unknown metric; known: requested_peak_bytes"));
  }
}

TEST(Exports, JsonLinesHaveNullsForWhatWasNotMeasured) {
  const std::vector<Json> lines = lines_of([](const TextSink& sink) { write_json_lines(gpu(), sink); });
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[1].at("run"), "3");
  EXPECT_EQ(lines[1].at("case"), "op/a/opencl");
  EXPECT_TRUE(lines[1].at("gpu_time_ns").is_null());
  EXPECT_TRUE(lines[1].at("setup_bytes").is_null());
  EXPECT_EQ(lines[0].at("requested_peak_bytes").dump(), "9007199254740992");
  EXPECT_EQ(lines[2].at("outcome"), "crashed");
}

TEST(Exports, RunsBeforeTheDateAndOfTheBaseBranchAreLeftOut) {
  ExportChoice choice;
  choice.since = "2026-01-02T00:00:00Z";
  const trend::DeviceHistory late = chosen(gpu(), choice);
  ASSERT_EQ(late.runs.size(), 1U);
  EXPECT_EQ(late.runs[0].id, "3");
  ASSERT_EQ(late.series.size(), 1U);  // no time since
  EXPECT_EQ(late.series[0].metric, "requested_peak_bytes");
  EXPECT_EQ(late.series[0].values, std::vector<std::optional<double>>{12.0});
  EXPECT_EQ(late.outcomes.size(), 2U);
  choice.since = "2026-01-03T02:00:01Z";
  EXPECT_TRUE(chosen(gpu(), choice).runs.empty());
  choice.since = "2026-01-01T02:00:00Z";
  EXPECT_EQ(series_csv(chosen(gpu(), choice)), series_csv(gpu()));

  trend::DeviceHistory branch = gpu();
  branch.base_runs.resize(1);
  EXPECT_EQ(series_csv(chosen(branch, {})),
            "time,commit,run,op/a/opencl requested_peak_bytes\n2026-01-03T02:00:00Z,c3,3,12\n");
}

TEST(Exports, RunsOfABranchAreThinnedWithThoseOfItsBase) {
  trend::DeviceHistory branch;
  for (const char* const id : {"1", "2", "3", "4", "5"}) branch.runs.push_back(sample(id, "2026-01-01"));
  branch.base_runs.resize(1);
  branch.series = {
      {"op/a/opencl", "setup_bytes", {1.0, 2.0, 3.0, 4.0, 5.0}, {}},
      {"op/b/opencl", "setup_bytes", {std::nullopt, 2.0, std::nullopt, std::nullopt, std::nullopt}, {}}};
  ExportChoice choice;
  choice.with_base = true;
  choice.max_runs = 4;
  const trend::DeviceHistory kept = chosen(branch, choice);
  ASSERT_EQ(kept.series.size(), 1U);  // of the other, no run is left
  EXPECT_EQ(kept.series[0].values, (std::vector<std::optional<double>>{1.0, 3.0, 4.0, 5.0}));
  EXPECT_EQ(kept.left_out, (std::map<std::string, std::size_t>{{"2", 1}}));
}

TEST(Exports, BencherHasTheValuesOfOneRun) {
  const std::string measures = R"({"op/a/opencl":{"peak-bytes":{"value":12}}})";
  EXPECT_EQ(Json::parse(bencher_metrics({gpu()}, "latest")), Json::parse(measures));
  EXPECT_EQ(Json::parse(bencher_metrics({gpu()}, "3")), Json::parse(measures));
  EXPECT_EQ(
      Json::parse(bencher_metrics({gpu()}, "1")),
      Json::parse(R"({"op/a/opencl":{"latency":{"value":0.1},"peak-bytes":{"value":9007199254740992}}})"));
  EXPECT_EQ(Json::parse(bencher_metrics({gpu(), cpu()}, "2")),
            Json::parse(
                R"({"CPU: op/a/opencl":{"latency":{"value":0.1},"peak-bytes":{"value":9007199254740992}}})"));
  EXPECT_EQ(bencher_metrics({}, "latest"), "{}\n");
}

TEST(Exports, ReportsGetListsAlignedWithTheRunsOfTheirDevice) {
  const KnownCase known{"op/a/opencl", "op/a", "opencl",
                        Parameters({{"n", Size{20}}, {"m", std::string("x")}})};
  trend::DeviceHistory device = gpu();
  device.left_out = {{"2", 1}};
  const std::vector<Json> lines =
      lines_of([&](const TextSink& sink) { write_series_for_reports(device, {known}, sink); });
  ASSERT_EQ(lines.size(), 3U);
  const Json& runs = lines[0].at("runs");
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].at("id"), "3");
  EXPECT_EQ(runs[1].at("device"), "GPU");
  EXPECT_EQ(runs[1].at("branch"), "main");
  EXPECT_EQ(runs[1].at("environment").at("kernel"), "Linux");
  EXPECT_TRUE(runs[1].at("reference_copy_ns").is_null());
  EXPECT_EQ(lines[0].at("left_out"), Json({{"2", 1}}));
  const Json& line = lines[1];
  EXPECT_EQ(line.at("case"), "op/a/opencl");
  EXPECT_EQ(line.at("device"), "GPU");
  EXPECT_EQ(line.at("variant"), "op/a");
  EXPECT_EQ(line.at("axes"), Json({{"n", 20}, {"m", "x"}}));
  EXPECT_EQ(line.at("series").at("requested_peak_bytes"), Json({9007199254740992, 12}));
  EXPECT_EQ(line.at("series").at("gpu_time_ns"), Json({0.1, nullptr}));
  EXPECT_EQ(line.at("outcomes"), Json({"ok", "ok"}));
  EXPECT_TRUE(lines[2].at("variant").is_null());
  EXPECT_TRUE(lines[2].at("series").empty());
}

TEST(Exports, OtavasFileNamesTheColumns) {
  EXPECT_EQ(otava_configuration(gpu(), "a \"b\".csv"),
            "tests:\n  peakmark:\n    type: csv\n    file: \"a \\\"b\\\".csv\"\n    time_column: time\n"
            "    attributes: [commit, run]\n    metrics:\n"
            "      \"op/a/opencl gpu_time_ns\": {column: \"op/a/opencl gpu_time_ns\", direction: -1}\n"
            "      \"op/a/opencl requested_peak_bytes\": {column: \"op/a/opencl requested_peak_bytes\", "
            "direction: -1}\n");
}

}  // namespace
}  // namespace peakmark::history
