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
    EXPECT_EQ(devices[0].series[8].case_name, "op/b/opencl/n:2");
    EXPECT_EQ(devices[0].series[8].metric, "requested_peak_bytes");
    EXPECT_EQ(devices[0].series[8].values, (std::vector<std::optional<double>>{2 * kMiB, 6 * kMiB}));
    EXPECT_EQ(history.at_peak("op/b/opencl/n:2", "night-02")[1].bytes, 3 * kMiB);
    EXPECT_EQ(history.run("night-01").observations.front().gpu_time->median_ns, 1000);
    // What the version did not know is there now.
    history.add_acceptance({"op/a/opencl", "", "night-02", "me", "2026-01-03T00:00:00Z", "because"});
    EXPECT_EQ(history.acceptances().size(), 1U);
    EXPECT_EQ(history.add(sample_history_run(3).run).runs_of_device, 3);
  }
}

TEST_P(EarlierVersion, ARunThatItHoldsIsKnownAgain) {
  load(1);
  History history(address(), History::Purpose::write);
  EXPECT_TRUE(history.add(sample_history_run(1).run).was_there);
}

}  // namespace
}  // namespace peakmark::history
