#include "analyse/trend/notifications.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analyse/trend/reports.hpp"
#include "analyse/trend/sample_trends.hpp"

namespace peakmark::trend {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Json = nlohmann::json;

constexpr const char* kNow = "2026-03-01T02:00:00Z";
constexpr const char* kStale = "2026-03-01T01:45:00Z";

/// Two cases of one variant that need more since run 2, and what was sent.
class Notifications : public testing::Test {
 protected:
  Notifications() : history_(nightly_history(4)) {
    for (std::size_t i = 0; i < 4; ++i) history_.runs[i].commit = "abcdef" + std::to_string(i);
    history_.series = {{"pad/a/dry/n:1", "requested_peak_bytes", {10.0, 10.0, 20.0, 20.0}, {}, {}},
                       {"pad/a/dry/n:2", "requested_peak_bytes", {10.0, 10.0, 40.0, 40.0}, {}, {}}};
    history_.outcomes = {{"pad/a/dry/n:1", {"ok", "ok", "ok", "ok"}},
                         {"pad/a/dry/n:2", {"ok", "ok", "ok", "ok"}}};
  }

  [[nodiscard]] Notices find() const {
    std::vector<DeviceTrends> devices{{&history_, find_trends(history_), {}, "https://example.org/{commit}"}};
    if (!other_.runs.empty()) devices.push_back({&other_, find_trends(other_), {}});
    return find_notices(devices, sent_, kNow, kStale);
  }
  /// Sends all, as `trends --notify` does.
  std::size_t send(bool is_sent = true) {
    const Notices notices = find();
    replace(notices.joined);
    for (const Notice& notice : notices.notices) replace(is_sent ? notice.sent : notice.failed);
    return notices.notices.size();
  }
  void replace(const std::vector<Notified>& rows) {
    for (const Notified& row : rows) {
      std::erase_if(sent_, [&](const Notified& one) { return one.key() == row.key(); });
      if (row.state) sent_.push_back(row);
    }
  }
  void accept(const std::string& case_name) {
    history_.acceptances.push_back({case_name, "", "run2", "ada", "2026-02-01T00:00:00Z", "a cache"});
  }

  /// Another device has one of the cases too.
  void add_device() {
    other_ = history_;
    other_.device = "another GPU";
    for (HistoryRun& run : other_.runs) run.id = "other-" + run.id;
    other_.series.resize(1);
    other_.outcomes.resize(1);
  }

  DeviceHistory history_;
  DeviceHistory other_;  ///< has no runs until add_device()
  std::vector<Notified> sent_;
};

TEST_F(Notifications, AFindingIsSentOnceWithItsCommits) {
  const Notices notices = find();
  ASSERT_THAT(notices.notices, SizeIs(1));
  EXPECT_FALSE(notices.notices[0].is_closed);
  const Json json = Json::parse(notices.notices[0].document);
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_EQ(json.at("event"), "opened");
  EXPECT_EQ(json.at("finding"), notices.notices[0].finding);
  EXPECT_EQ(json.at("case"), "pad/a/dry/n:2") << "the largest step";
  EXPECT_EQ(json.at("cases").size(), 2U);
  EXPECT_EQ(json.at("before"), 10);
  EXPECT_EQ(json.at("after"), 40);
  EXPECT_EQ(json.at("commit_before"), "abcdef1");
  EXPECT_EQ(json.at("commit"), "abcdef2");
  EXPECT_EQ(json.at("commit_url"), "https://example.org/abcdef2");
  EXPECT_EQ(
      json.at("compare"),
      "peakmark compare nightly.toml --commits abcdef1 abcdef2 --build-command BUILD --filter '^(pad/a)/'");
  EXPECT_THAT(
      json.at("text").get<std::string>(),
      HasSubstr("regression: pad/a, 2 cases, largest: pad/a/dry/n:2: requested_peak_bytes 10 B → 40 B"));
  EXPECT_EQ(send(), 1U);
  EXPECT_EQ(send(), 0U) << "the next run does not repeat it";
}

TEST_F(Notifications, WhatFailedIsSentAgain) {
  const std::string id = find().notices.at(0).finding;
  EXPECT_EQ(send(false), 1U);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(find().notices.at(0).finding, id);
  EXPECT_EQ(send(), 1U);
  EXPECT_EQ(send(), 0U);
}

TEST_F(Notifications, AFindingIsClosedOnceWhenAllOfItIs) {
  send();
  accept("pad/a/dry/n:2");
  EXPECT_EQ(send(), 0U) << "the other case is open";
  accept("pad/a/dry/n:1");
  const Notices closed = find();
  ASSERT_THAT(closed.notices, SizeIs(1));
  EXPECT_TRUE(closed.notices[0].is_closed);
  const Json json = Json::parse(closed.notices[0].document);
  EXPECT_EQ(json.at("event"), "closed");
  EXPECT_EQ(json.at("reason"), "accepted");
  EXPECT_EQ(json.at("accepted").at("who"), "ada");
  EXPECT_EQ(json.at("cases").size(), 2U);
  EXPECT_EQ(send(false), 1U);
  EXPECT_EQ(send(), 1U) << "again, since it failed";
  EXPECT_EQ(send(), 0U);
  history_.acceptances.clear();
  const Notices again = find();
  ASSERT_THAT(again.notices, SizeIs(1));
  EXPECT_FALSE(again.notices[0].is_closed);
  EXPECT_EQ(again.notices[0].finding, closed.notices[0].finding) << "it opens again under its id";
}

TEST_F(Notifications, ARecoveryClosesIt) {
  history_.runs[3].commit_text = {"Free the copy", "Ada", 7};
  send();
  for (Series& series : history_.series) series.values[3] = 10.0;
  const Notices closed = find();
  ASSERT_THAT(closed.notices, SizeIs(1));
  const Json json = Json::parse(closed.notices[0].document);
  EXPECT_EQ(json.at("reason"), "recovered");
  EXPECT_EQ(json.at("commit"), "abcdef2") << "that brought it";
  EXPECT_THAT(json.at("text").get<std::string>(),
              HasSubstr("; fixed in run run3 (2026-01-04), commit abcdef3: Free the copy, by Ada"));
  EXPECT_EQ(json.at("recovered"), Json({{"run", "run3"},
                                        {"date", "2026-01-04T02:00:00Z"},
                                        {"commit", "abcdef3"},
                                        {"commit_url", "https://example.org/abcdef3"},
                                        {"commit_subject", "Free the copy"},
                                        {"commit_author", "Ada"}}));
}

TEST_F(Notifications, AFindingWhoseRunsArePrunedIsRemoved) {
  send();
  history_.series.clear();
  const Notices closed = find();
  ASSERT_THAT(closed.notices, SizeIs(1));
  EXPECT_EQ(Json::parse(closed.notices[0].document).at("reason"), "removed");
}

TEST_F(Notifications, AFurtherCaseOfAFindingIsNotSentAgain) {
  const Series second = history_.series.back();
  history_.series.pop_back();
  send();
  history_.series.push_back(second);
  EXPECT_EQ(send(), 0U);
  EXPECT_THAT(sent_, SizeIs(2));
  EXPECT_EQ(sent_[0].finding, sent_[1].finding);
}

TEST_F(Notifications, AFindingOfTwoDevicesIsSentOnce) {
  add_device();
  const Notices notices = find();
  ASSERT_THAT(notices.notices, SizeIs(1));
  const Json json = Json::parse(notices.notices[0].document);
  EXPECT_EQ(json.at("event"), "opened");
  EXPECT_EQ(json.at("devices").size(), 2U);
  EXPECT_THAT(json.at("text").get<std::string>(), HasSubstr("3 cases"));
  EXPECT_THAT(json.at("text").get<std::string>(), HasSubstr("on 2 devices: GPU, another GPU"));
  EXPECT_EQ(send(), 1U);
  EXPECT_EQ(send(), 0U);
  accept("pad/a/dry/n:1");
  accept("pad/a/dry/n:2");
  EXPECT_EQ(send(), 0U) << "the other device has it still";
  other_.acceptances.push_back({"pad/a/dry/n:1", "", "other-run2", "ada", "2026-02-01T00:00:00Z", "a cache"});
  const Notices closed = find();
  ASSERT_THAT(closed.notices, SizeIs(1));
  EXPECT_TRUE(closed.notices[0].is_closed);
  EXPECT_EQ(Json::parse(closed.notices[0].document).at("devices").size(), 2U);
}

TEST_F(Notifications, AFindingThatReachesAnotherDeviceIsUpdated) {
  const std::string id = find().notices.at(0).finding;
  send();
  add_device();
  for (const bool is_sent : {false, true}) {
    const Notices updated = find();
    ASSERT_THAT(updated.notices, SizeIs(1));
    EXPECT_EQ(updated.notices[0].finding, id);
    const Json json = Json::parse(updated.notices[0].document);
    EXPECT_EQ(json.at("event"), "updated");
    EXPECT_EQ(json.at("finding"), id);
    EXPECT_EQ(json.at("devices").at(1).at("device"), "another GPU");
    EXPECT_EQ(send(is_sent), 1U) << "again, if it failed";
  }
  EXPECT_EQ(send(), 0U);
  for (Series& series : history_.series) series.values[3] = 10.0;
  EXPECT_EQ(send(), 0U) << "open on the other device";
  other_.series[0].values[3] = 10.0;
  const Notices closed = find();
  ASSERT_THAT(closed.notices, SizeIs(1));
  EXPECT_EQ(closed.notices[0].finding, id);
}

TEST_F(Notifications, AnUpdateThatAProcessDidNotEndIsSentAgain) {
  send();
  add_device();
  replace(find().notices.at(0).sending);
  EXPECT_THAT(find().notices, IsEmpty()) << "another process sends it";
  for (Notified& row : sent_) {
    if (row.state == NotifiedState::opening) row.changed_at = kStale;
  }
  ASSERT_THAT(find().notices, SizeIs(1));
  EXPECT_EQ(send(), 1U);
  EXPECT_EQ(send(), 0U);
}

TEST_F(Notifications, WhatAnotherProcessSendsIsLeftToIt) {
  replace(find().notices.at(0).sending);
  EXPECT_THAT(find().notices, IsEmpty());
  for (Notified& row : sent_) row.changed_at = kStale;
  EXPECT_THAT(find().notices, SizeIs(1)) << "it ended before it had sent it";
}

}  // namespace
}  // namespace peakmark::trend
