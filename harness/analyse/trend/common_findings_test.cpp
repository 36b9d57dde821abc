#include "analyse/trend/common_findings.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analyse/trend/reports.hpp"
#include "analyse/trend/sample_trends.hpp"

namespace peakmark::trend {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using Json = nlohmann::json;

/// Two devices with a run a day; pad/a of GPU needs more since run 2, that of CPU since run `cpu_first`.
class CommonFindings : public testing::Test {
 protected:
  CommonFindings() {
    gpu_ = device("GPU", "cuda", {{"pad/a/cuda/n:1", 20}, {"pad/a/cuda/n:2", 40}}, 2);
    cpu_ = device("CPU", "opencl", {{"pad/a/opencl/n:1", 30}}, 2);
  }

  static DeviceHistory device(const std::string& name, const std::string& backend,
                              const std::vector<std::pair<std::string, double>>& cases, std::size_t first,
                              std::string_view metric = metric::requested_peak_bytes) {
    DeviceHistory history = nightly_history(4);
    history.device = name;
    history.backend = backend;
    for (std::size_t i = 0; i < history.runs.size(); ++i) {
      history.runs[i].id = name + std::to_string(i);
      history.runs[i].commit = "abcdef" + std::to_string(i);
    }
    for (const auto& [case_name, after] : cases) {
      Series series{case_name, std::string(metric), {}, {}, {}};
      for (std::size_t i = 0; i < 4; ++i) series.values.emplace_back(i < first ? 10 : after);
      history.series.push_back(series);
      history.outcomes.push_back({case_name, {"ok", "ok", "ok", "ok"}});
    }
    return history;
  }
  [[nodiscard]] std::vector<DeviceTrends> trends() const {
    return {{&gpu_, find_trends(gpu_), {}}, {&cpu_, find_trends(cpu_), {}}};
  }
  [[nodiscard]] std::size_t count() const {
    const std::vector<DeviceTrends> all = trends();
    return find_common_findings(all, is_open).size();
  }

  DeviceHistory gpu_;
  DeviceHistory cpu_;
};

TEST_F(CommonFindings, OneCauseOnTwoDevicesIsOne) {
  const std::vector<DeviceTrends> all = trends();
  const std::vector<CommonFinding> findings = find_common_findings(all, is_open);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].parts, SizeIs(2));
  EXPECT_EQ(findings[0].device, &all[0]) << "of the worst case";
  EXPECT_EQ(findings[0].finding.worst().case_name, "pad/a/cuda/n:2");
  ASSERT_THAT(findings[0].finding.changes, SizeIs(3)) << "the largest step first";
  EXPECT_EQ(findings[0].finding.changes[1]->case_name, "pad/a/opencl/n:1");
  EXPECT_FALSE(findings[0].is_new());
}

TEST_F(CommonFindings, OtherCommitsMetricsOrVariantsAreApart) {
  cpu_ = device("CPU", "opencl", {{"pad/a/opencl/n:1", 30}}, 3);
  EXPECT_EQ(count(), 2U) << "other commits";
  cpu_ = device("CPU", "opencl", {{"pad/a/opencl/n:1", 30}}, 2, metric::setup_bytes);
  EXPECT_EQ(count(), 2U) << "another metric";
  cpu_ = device("CPU", "opencl", {{"pad/b/opencl/n:1", 30}}, 2);
  EXPECT_EQ(count(), 2U) << "another variant";
  cpu_ = device("CPU", "opencl", {{"pad/a/opencl/n:1", 30}}, 2);
  EXPECT_EQ(count(), 1U);
  for (DeviceHistory* const one : {&gpu_, &cpu_}) one->runs[2].commit.clear();
  EXPECT_EQ(count(), 2U) << "commits that are not known say nothing";
  for (DeviceHistory* const one : {&gpu_, &cpu_}) one->runs[2].commit = one->runs[1].commit;
  EXPECT_EQ(count(), 2U) << "one commit: the device changed, not the code";
}

TEST_F(CommonFindings, AnAllocationInCommonJoinsVariants) {
  cpu_ = device("CPU", "opencl", {{"pad/b/opencl/n:1", 30}}, 2);
  std::vector<DeviceTrends> all = trends();
  all[0].trends.changes[0].allocations = {{"table", "device", std::nullopt, 8, 1}};
  all[1].trends.changes[0].allocations = {{"table", "buffer", std::nullopt, 8, 1}};
  const std::vector<CommonFinding> findings = find_common_findings(all, is_open);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].finding.variants, ElementsAre("pad/a", "pad/b"));
}

TEST_F(CommonFindings, WhatReachesAnotherDeviceIsNotNew) {
  std::vector<DeviceTrends> all = trends();
  for (Change& change : all[1].trends.changes) change.is_news = true;
  EXPECT_FALSE(find_common_findings(all, is_open).at(0).is_new());
  for (Change& change : all[0].trends.changes) change.is_news = true;
  EXPECT_TRUE(find_common_findings(all, is_open).at(0).is_new());
  all[1].trends.changes[0].state = State::accepted;
  EXPECT_THAT(find_common_findings(all, [](const Change&) { return true; }), SizeIs(2));
  EXPECT_THAT(find_common_findings({}, is_open), IsEmpty());
}

TEST_F(CommonFindings, TheIdStaysWhenADeviceJoins) {
  const std::vector<DeviceTrends> all = trends();
  const std::vector<DeviceTrends> one{{&gpu_, find_trends(gpu_), {}}};
  cpu_.runs[2].date = "2026-01-03T08:00:00Z";
  EXPECT_EQ(finding_id(find_common_findings(one, is_open).at(0), {}),
            finding_id(find_common_findings(all, is_open).at(0), {}));
}

TEST_F(CommonFindings, EveryReportHasItOnceWithItsDevices) {
  const std::vector<DeviceTrends> all = trends();
  const std::string table = trends_table(all);
  EXPECT_THAT(table, AllOf(HasSubstr("\nstill open:\n"), HasSubstr("2 devices: GPU, CPU"),
                           HasSubstr("pad/a, 3 cases, largest: pad/a/cuda/n:2"), HasSubstr("+10 B to +30 B"),
                           HasSubstr("\nGPU (cuda): 4 runs"), HasSubstr("\nCPU (opencl): 4 runs")));
  EXPECT_THAT(table, StartsWith("1 finding: 1 regression; "));
  EXPECT_EQ(table.find("\nregression"), table.rfind("\nregression")) << table;
  EXPECT_THAT(trends_markdown(all), HasSubstr("| 2 devices: GPU, CPU |"));
  const Json findings = Json::parse(trends_json(all, ExitCode::clean)).at("findings");
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].at("device"), "GPU");
  EXPECT_EQ(findings[0].at("cases").size(), 3U);
  const Json& devices = findings[0].at("devices");
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[1].at("device"), "CPU");
  EXPECT_EQ(devices[1].at("backend"), "opencl");
  EXPECT_EQ(devices[1].at("run"), "CPU2");
  EXPECT_EQ(devices[1].at("run_before"), "CPU1");
  EXPECT_EQ(devices[1].at("cases"), Json({"pad/a/opencl/n:1"}));
  EXPECT_THAT(trends_table({all[0]}), Not(HasSubstr("  device  "))) << "one device needs no column";
}

}  // namespace
}  // namespace peakmark::trend
