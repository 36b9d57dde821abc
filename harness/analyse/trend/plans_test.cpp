// Tests how trends report cases from run to run, if runs measure all cases of their suite or only some.
#include <gmock/gmock.h>

#include "analyse/trend/changes.hpp"
#include "analyse/trend/trends.hpp"
#include "base/error.hpp"

namespace peakmark::trend {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::optional<std::string> kOk = "ok";
constexpr std::nullopt_t kNo = std::nullopt;

class Plan : public testing::Test {
 protected:
  /// Runs of a suite; letters are its fingerprints.
  explicit Plan(const std::string& fingerprints = "aaaa") {
    for (const char fingerprint : fingerprints) {
      HistoryRun& run = history_.runs.emplace_back();
      run.id = "run" + std::to_string(history_.runs.size() - 1);
      run.suite = "nightly";
      run.fingerprint = fingerprint;
    }
  }
  void add(const std::string& name, std::vector<std::optional<std::string>> outcomes) {
    history_.outcomes.push_back({name, std::move(outcomes)});
  }
  std::vector<std::string> left_suite() const {
    std::vector<std::string> names;
    for (const LeftSuite& one : find_trends(history_).left_suite) names.push_back(one.case_name);
    return names;
  }
  std::vector<std::string> come_new() const {
    std::vector<std::string> names;
    for (const NewCase& one : find_trends(history_).new_cases) names.push_back(one.case_name);
    return names;
  }

  DeviceHistory history_;
};

TEST_F(Plan, CasesLeaveTheSuiteAndComeNew) {
  for (HistoryRun& run : history_.runs) run.fingerprint = run.id;
  history_.runs[3].suite = "weekly";
  add("a/always", {kOk, kOk, kOk, kNo});
  add("b/crashes", {kOk, kOk, "crashed", kNo});
  add("c/gone", {kOk, kNo, kNo, kNo});
  add("d/new", {kNo, kNo, kOk, kNo});
  add("e/weekly", {kNo, kNo, kNo, kOk});
  const Trends trends = find_trends(history_);
  EXPECT_THAT(left_suite(), ElementsAre("c/gone"));
  EXPECT_EQ(trends.left_suite[0].last, 0u);
  EXPECT_FALSE(trends.left_suite[0].is_news) << "an earlier run lacked it too";
  EXPECT_THAT(come_new(), ElementsAre("d/new"));
}

TEST_F(Plan, ARunThatDidNotPlanACaseSaysNothingOfIt) {
  add("a/always", {kOk, kOk, kOk, kOk});
  add("b/left_out", {kOk, kOk, kOk, kNo});
  add("c/crashed_before", {kOk, kOk, "crashed", kNo});
  EXPECT_THAT(left_suite(), IsEmpty());
  const std::vector<Change> changes = find_trends(history_).changes;
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].case_name, "c/crashed_before");
  EXPECT_TRUE(is_open(changes[0]));
}

TEST_F(Plan, ACaseThatASmallerRunLeftOutIsNotNewLater) {
  add("a/always", {kOk, kOk, kOk, kOk});
  add("b/left_out", {kNo, kNo, kNo, kOk});
  EXPECT_THAT(come_new(), IsEmpty());
}

TEST_F(Plan, AFilterListsTheCasesItLeftOutOfASuiteThatChanged) {
  history_.runs[3].fingerprint = "b";
  history_.runs[3].filter = "^a/.*n:20$";
  add("a/always/n:20", {kOk, kOk, kOk, kOk});
  add("a/gone/n:20", {kOk, kOk, kOk, kNo});
  add("a/other/n:2", {kOk, kOk, kOk, kNo});
  EXPECT_THAT(left_suite(), ElementsAre("a/gone/n:20"));
  history_.runs[3].filter = "(";
  EXPECT_THROW(find_trends(history_), UsageError);
}

TEST_F(Plan, SoDoVariants) {
  history_.runs[3].fingerprint = "b";
  history_.runs[3].rounds.emplace().variants = {"a/old", "a/new"};
  add("a/new/opencl", {kOk, kOk, kOk, kOk});
  add("a/newer/opencl", {kOk, kOk, kOk, kNo});
  add("a/old/opencl", {kOk, kOk, kOk, kNo});
  EXPECT_THAT(left_suite(), ElementsAre("a/old/opencl"));
}

TEST_F(Plan, ARunWithABackendSaysNothingOfCasesOfOthers) {
  history_.runs[3].fingerprint = "b";
  history_.runs[3].asked_backend = "opencl";
  add("a/always/opencl", {kOk, kOk, kOk, kOk});
  add("a/dry/dry/n:20", {kOk, kOk, kOk, kNo});  // its variant has the name of a backend
  add("a/gone/opencl/n:20", {kOk, kOk, kOk, kNo});
  EXPECT_THAT(left_suite(), ElementsAre("a/gone/opencl/n:20"));
}

TEST_F(Plan, CasesThatABackendMadeNeitherComeNewNorLeave) {
  for (HistoryRun& run : history_.runs) run.fingerprint = run.id;
  history_.runs[2].asked_backend = "opencl";
  add("a/always/opencl", {kOk, kOk, kOk, kOk});
  add("a/gone/opencl", {kOk, kOk, kOk, kNo});
  add("a/of_dry/dry", {kOk, kOk, kNo, kOk});
  add("a/of_dry/opencl", {kNo, kNo, kOk, kNo});
  EXPECT_THAT(left_suite(), ElementsAre("a/gone/opencl"));
  history_.runs.pop_back();
  for (CaseOutcomes& one : history_.outcomes) one.outcomes.pop_back();
  EXPECT_THAT(left_suite(), IsEmpty());
  EXPECT_THAT(come_new(), IsEmpty());
}

TEST_F(Plan, NewsIsOfTheLastRunThatHasThem) {
  add("a/grows", {kOk, kOk, kOk, kNo});
  add("b/always", {kOk, kOk, kOk, kOk});
  history_.series = {{"a/grows", "requested_peak_bytes", {1, 1, 2, kNo}, {}},
                     {"b/always", "requested_peak_bytes", {1, 1, 2, 2}, {}}};
  const Trends trends = find_trends(history_);
  ASSERT_EQ(trends.changes.size(), 2u);
  EXPECT_TRUE(trends.changes[0].is_news);
  EXPECT_FALSE(trends.changes[1].is_news);
}

TEST_F(Plan, AnotherVersionIsANewSeries) {
  for (HistoryRun& run : history_.runs) run.fingerprint = run.id;
  history_.outcomes = {{"a/b/dry", {kOk, kOk, kOk, "crashed"}, {}, {1, 1, 1, 2}},
                       {"c/d/dry", {kOk, kOk, kOk, kOk}}};
  history_.series = {{"a/b/dry", "requested_peak_bytes", {1.0, 1.0, 1.0, kNo}, {}, {}},
                     {"c/d/dry", "requested_peak_bytes", {1.0, 1.0, 1.0, 1.0}, {}, {}}};
  history_.acceptances = {{"a/b/dry", "", "run1", "ada", "", ""}, {"c/d/dry", "", "run1", "ada", "", ""}};
  keep_newest_version(history_);
  EXPECT_EQ(history_.outcomes[0].version, 2);
  EXPECT_EQ(history_.outcomes[0].version_before, 1);
  EXPECT_EQ(history_.series.size(), 1U) << "of the new version no bytes are known";
  EXPECT_EQ(history_.acceptances.size(), 1U);
  EXPECT_FALSE(history_.runs[3].begins_new_series) << "a case of it is compared";
  const Trends trends = find_trends(history_);
  EXPECT_THAT(trends.changes, IsEmpty()) << "no regression of the outcome of version 1";
  ASSERT_EQ(trends.new_cases.size(), 1U);
  EXPECT_EQ(trends.new_cases[0].note, "version 1 → 2: a new series");
}

}  // namespace
}  // namespace peakmark::trend
