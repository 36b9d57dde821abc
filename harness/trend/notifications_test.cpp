#include "trend/notifications.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "trend/reports.hpp"
#include "trend/sample_trends.hpp"

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

  DeviceHistory history_;
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
  send();
  for (Series& series : history_.series) series.values[3] = 10.0;
  const Notices closed = find();
  ASSERT_THAT(closed.notices, SizeIs(1));
  EXPECT_EQ(Json::parse(closed.notices[0].document).at("reason"), "recovered");
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

TEST_F(Notifications, WhatAnotherProcessSendsIsLeftToIt) {
  replace(find().notices.at(0).sending);
  EXPECT_THAT(find().notices, IsEmpty());
  for (Notified& row : sent_) row.changed_at = kStale;
  EXPECT_THAT(find().notices, SizeIs(1)) << "it ended before it had sent it";
}

}  // namespace
}  // namespace peakmark::trend
