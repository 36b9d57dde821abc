// Histories as earlier versions of peakmark left them are brought up to date, and nothing in them is lost.
// The folder versions/ holds one of each version, in SQL that both databases take.
#include <gmock/gmock.h>

#include "base/text_file.hpp"
#include "history/database.hpp"
#include "history/run_record.hpp"
#include "history/sample_runs.hpp"
#include "history/test_databases.hpp"

namespace peakmark::history {
namespace {

class EarlierVersion : public OnBothDatabases {
 protected:
  void load(int version) {
    execute((is_postgresql() ? "CREATE SCHEMA peakmark;\nSET search_path TO peakmark;\n" : "") +
            read_text_file(PEAKMARK_HISTORY_VERSIONS "/version-" + std::to_string(version) + ".sql"));
  }
};

Values values_of_confirmations(const trend::DeviceHistory& device, const std::string& case_name) {
  for (const trend::Series& series : device.series) {
    if (series.case_name == case_name && series.metric == trend::metric::gpu_time_ns)
      return series.confirmations;
  }
  return {};
}

INSTANTIATE_TEST_SUITE_P(, EarlierVersion, testing::Values(Address::Kind::sqlite, Address::Kind::postgresql),
                         kind_name);

TEST_P(EarlierVersion, IsBroughtUpToDateWithAllThatItHolds) {
  for (int version = 1; version < kSchemaVersion; ++version) {
    SetUp();
    load(version);
    History history(address(), History::Purpose::read);
    EXPECT_EQ(history.migrated_from(), version);
    EXPECT_EQ(History(address(), History::Purpose::read).migrated_from(), std::nullopt) << "once is enough";

    // As the runs of sample_runs.hpp were added by the version that wrote it: 1 and 2, the second larger.
    const std::vector<LoggedRun> log = history.log();
    ASSERT_EQ(log.size(), 2U);
    EXPECT_EQ(log[0].id, "night-01");
    EXPECT_EQ(log[1].ok, 2);
    const auto devices = history.read();
    ASSERT_EQ(devices.size(), 1U);
    EXPECT_EQ(devices[0].series.size(), 10U);
    for (const trend::Series& series : devices[0].series) {
      const bool is_time = series.metric == trend::metric::gpu_time_ns;
      EXPECT_EQ(series.method, is_time ? "device, hot, median" : "");
    }
    EXPECT_EQ(devices[0].series[8].case_name, "op/b/opencl/n:2");
    EXPECT_EQ(devices[0].series[8].metric, "requested_peak_bytes");
    EXPECT_EQ(devices[0].series[8].values, (std::vector<std::optional<double>>{2 * kMiB, 6 * kMiB}));
    EXPECT_EQ(history.at_peak("op/b/opencl/n:2", "night-02")[1].bytes, 3 * kMiB);
    EXPECT_EQ(history.run("night-01").observations.front().gpu_time->median_ns, 1000);
    // What the version did not know is there now.
    history.add_acceptance({"op/a/opencl", "", "night-02", "me", "2026-01-03T00:00:00Z", "because"});
    EXPECT_EQ(history.acceptances().size(), 1U);
    EXPECT_EQ(history.add(sample_history_run(3).run).runs_of_device, 3);
    EXPECT_EQ(history.settings().base_branch, "");
    EXPECT_FALSE(history.add(sample_history_run(4).run, {"pull/1", "main", {"c-night-02"}}).is_of_base);
    EXPECT_EQ(history.read()[0].runs.size(), 3U) << "runs of earlier versions are of the base branch";
    EXPECT_EQ(history.read("pull/1")[0].runs.size(), 3U) << "1 and 2, and the branch's";
    const Values again = values_of_confirmations(devices[0], "op/b/opencl/n:2");
    EXPECT_EQ(again, version < 3 ? Values{} : (Values{std::nullopt, 1002}));
  }
}

TEST_P(EarlierVersion, ReadersOfPostgresqlMayReadNewTables) {
  if (!is_postgresql()) GTEST_SKIP() << "SQLite has no privileges";
  load(3);
  execute(
      "DROP ROLE IF EXISTS reader;\nCREATE ROLE reader LOGIN;\nGRANT USAGE ON SCHEMA peakmark TO reader;\n"
      "GRANT SELECT ON ALL TABLES IN SCHEMA peakmark TO reader;\n");
  EXPECT_EQ(open().migrated_from(), 3);
  History history(parse_address(PostgresqlServer::get()->url("reader")), History::Purpose::read);
  EXPECT_EQ(history.read()[0].runs.size(), 2U);
  EXPECT_TRUE(history.notified().empty());
  const trend::Notified row{"op/a/opencl", "", "night-01", "abc", trend::NotifiedState::open, ""};
  EXPECT_THROW(history.update_notified({}, {row}), DatabaseError);
  execute("DROP OWNED BY reader;\nDROP ROLE reader;\n");
}

TEST_P(EarlierVersion, RunsStayInTheOrderOfTheirDatesButForFutureOnes) {
  const std::string schema = is_postgresql() ? "peakmark." : "";
  const auto order_with = [&](const std::string& first_date) {
    SetUp();
    load(4);
    execute("UPDATE " + schema + "runs SET date = '" + first_date + "' WHERE id = 'night-01'");
    return ids_of(open());
  };
  EXPECT_THAT(order_with("2026-01-05T02:00:00Z"), testing::ElementsAre("night-02", "night-01"));
  EXPECT_THAT(order_with("2999-01-01T00:00:00Z"), testing::ElementsAre("night-01", "night-02"));
  EXPECT_THAT(order_with("2026-01-01T02:00:00Z"), testing::ElementsAre("night-01", "night-02"));
}

TEST_P(EarlierVersion, ARunThatItHoldsIsKnownAgain) {
  load(1);
  History history(address(), History::Purpose::write);
  EXPECT_TRUE(history.add(sample_history_run(1).run).was_there);
}

}  // namespace
}  // namespace peakmark::history
