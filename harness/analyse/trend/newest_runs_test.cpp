#include "analyse/trend/newest_runs.hpp"

#include <gmock/gmock.h>

#include "analyse/trend/sample_trends.hpp"
#include "base/date.hpp"

namespace peakmark::trend {
namespace {

using std::chrono::hours;
using testing::ElementsAre;

std::chrono::system_clock::time_point moment(const char* date) {
  return parse_date(date).value().moment;
}

std::vector<std::string> texts(const DeviceHistory& history, const char* now) {
  std::vector<std::string> texts;
  for (const NewestRun& one : find_newest_runs(history, moment(now))) texts.push_back(to_text(one));
  return texts;
}

TEST(NewestRuns, AreTheLastOfEachSuite) {
  DeviceHistory history = nightly_history(4);  // the last on 2026-01-04 at 2
  history.runs[1].suite = "weekly";
  history.runs[3].commit = "1a2b3c4d5e6f708192a3";
  EXPECT_THAT(texts(history, "2026-01-05T14:00:00Z"),
              ElementsAre("newest run of nightly: 2026-01-04, 36 hours ago, commit 1a2b3c4d5e6f",
                          "newest run of weekly: 2026-01-02, 3 days ago"));
  EXPECT_THAT(texts(history, "2026-01-04T02:01:00Z")[0], testing::HasSubstr(", now, "));
  EXPECT_THAT(texts(history, "2026-01-04T03:01:00Z")[0], testing::HasSubstr(", 61 minutes ago, "));
  EXPECT_THAT(find_newest_runs({}, moment("2026-01-05")), testing::IsEmpty());
}

TEST(NewestRuns, SayWhatTheyLack) {
  DeviceHistory history = nightly_history(1);
  history.runs[0].partial = "shard 2 of 4 is missing";
  EXPECT_THAT(texts(history, "2026-01-01T02:00:00Z"),
              ElementsAre("newest run of nightly: 2026-01-01, now; partial: shard 2 of 4 is missing"));
}

TEST(NewestRuns, SayThatTheyHaveAPartOfTheCases) {
  DeviceHistory history = nightly_history(1);
  history.runs[0].filter = "n:24";
  EXPECT_THAT(texts(history, "2026-01-01T02:00:00Z"),
              ElementsAre("newest run of nightly: 2026-01-01, now; of a part of the cases: --filter n:24"));
}

TEST(NewestRuns, AreStaleIfTheyAreOlderThanAllowed) {
  DeviceHistory history = nightly_history(4);
  const auto is_stale = [&](const char* now, hours max_age) {
    return find_newest_runs(history, moment(now), max_age).at(0).is_stale;
  };
  EXPECT_FALSE(is_stale("2026-01-05T14:00:00Z", hours(36)));
  EXPECT_TRUE(is_stale("2026-01-05T14:00:01Z", hours(36)));
  EXPECT_FALSE(find_newest_runs(history, moment("2027-01-05")).at(0).is_stale);
  history.runs[3].date = "2999-01-01T00:00:00Z";
  EXPECT_TRUE(is_stale("2026-01-05T14:00:00Z", hours(36))) << "its age is unknown";
  history.runs[3].date = "2026-01-06T00:00:00Z";
  EXPECT_FALSE(is_stale("2026-01-05T14:00:00Z", hours(36))) << "a clock that is ahead";
  EXPECT_EQ(texts(history, "2026-01-05T14:00:00Z").at(0), "newest run of nightly: 2026-01-06, now");
}

}  // namespace
}  // namespace peakmark::trend
