// Tests of files that are not a history, or that cannot be read or written: the right error is printed, and
// nothing is changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <fstream>
#include <functional>

#include "analyse/history/history.hpp"
#include "analyse/history/sample_runs.hpp"
#include "base/error.hpp"
#include "base/files_testing.hpp"
#include "base/text_file.hpp"

namespace peakmark::history {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class SqliteError : public testing::Test {
 protected:
  std::string message_of_opening(History::Purpose purpose) const {
    return message_of([&] { History(parse_address(file_), purpose); });
  }
  std::string message_of_adding(const peakmark::Run& run) const {
    return message_of([&] { History(parse_address(file_), History::Purpose::write).add(run); });
  }
  static std::string message_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  void put(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }

  TemporaryFolder folder_;
  std::string file_ = folder_.path() / "history.db";
};

TEST_F(SqliteError, FilesOfOthersAreLeftAlone) {
  for (const std::string text : {"hello", "{\"context\": {}}", "SQLite format 2 and more than that"}) {
    put(text);
    for (const auto purpose : {History::Purpose::read, History::Purpose::write}) {
      EXPECT_THAT(message_of_opening(purpose),
                  AllOf(StartsWith(file_), HasSubstr("not a history: not an SQLite file")));
    }
    EXPECT_EQ(read_text_file(file_), text);
  }
  std::filesystem::remove(file_);
  {
    soci::session sql(soci::sqlite3, "dbname=\"" + file_ + "\"");
    sql << "CREATE TABLE mine (x)";
  }
  const std::string before = read_text_file(file_);
  EXPECT_THAT(message_of_adding(sample_history_run(1).run),
              HasSubstr("a database of another program, not a history"));
  EXPECT_EQ(read_text_file(file_), before);
}

TEST_F(SqliteError, AnEmptyFileBecomesAHistory) {
  put("");
  EXPECT_THAT(message_of_opening(History::Purpose::read), HasSubstr("no history here"));
  EXPECT_EQ(message_of_adding(sample_history_run(1).run), "none");
}

TEST_F(SqliteError, OnlyWriteMakesAHistory) {
  for (const auto purpose : {History::Purpose::read, History::Purpose::change}) {
    EXPECT_THAT(message_of_opening(purpose), AllOf(StartsWith(file_ + ": no history here"),
                                                   HasSubstr("peakmark history create --history " + file_)));
    EXPECT_FALSE(std::filesystem::exists(file_));
  }
  EXPECT_EQ(message_of_opening(History::Purpose::write), "none");
  EXPECT_EQ(message_of_opening(History::Purpose::change), "none");
  EXPECT_EQ(History(parse_address(file_), History::Purpose::read).log().size(), 0U);
}

TEST_F(SqliteError, NamesOfFilesMayBeStrange) {
  file_ = folder_.path() / "a b=c d;'.db";
  EXPECT_EQ(message_of_adding(sample_history_run(1).run), "none");
  EXPECT_EQ(History(parse_address(file_), History::Purpose::read).log().size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(file_));
}

TEST_F(SqliteError, MissingAndReadOnlyFoldersAreReported) {
  file_ = folder_.path() / "none" / "history.db";
  EXPECT_THAT(message_of_opening(History::Purpose::write), HasSubstr("folder does not exist"));
  file_ = folder_.path();
  EXPECT_THAT(message_of_opening(History::Purpose::write), HasSubstr("this is a folder; name a file in it"));
  file_ = "/proc/peakmark-history.db";  // for root too
  EXPECT_THAT(message_of_opening(History::Purpose::write),
              AllOf(StartsWith(file_), HasSubstr("file or folder not writable")));
}

TEST_F(SqliteError, AFullDiskLeavesWhatWasThere) {
  ASSERT_EQ(message_of_adding(sample_history_run(1).run), "none");
  SampleHistoryRun large = sample_history_run(2);
  for (int i = 0; i < 500; ++i) large.add("op/c/opencl/n:" + std::to_string(i + 3));
  {
    const FullDisk full(static_cast<rlim_t>(std::filesystem::file_size(file_)) + 8192);
    EXPECT_THAT(message_of_adding(large.run),
                AllOf(StartsWith(file_), HasSubstr("full"), HasSubstr("nothing was changed")));
  }
  EXPECT_EQ(History(parse_address(file_), History::Purpose::read).log().size(), 1U);
  EXPECT_EQ(message_of_adding(large.run), "none");
}

TEST_F(SqliteError, ADamagedFileIsReported) {
  for (int day = 1; day <= 3; ++day) ASSERT_EQ(message_of_adding(sample_history_run(day).run), "none");
  const std::string good = read_text_file(file_);
  const std::function<void()> read_all = [&] {
    History history(parse_address(file_), History::Purpose::read);
    history.read();
    history.run("run-02");
  };
  ASSERT_EQ(message_of(read_all), "none");
  // The file is cut short, and every page except the first is overwritten.
  for (const std::string& bad :
       {good.substr(0, good.size() / 2), good.substr(0, 4096) + std::string(good.size() - 4096, 'x')}) {
    put(bad);
    EXPECT_THAT(message_of(read_all), AllOf(StartsWith(file_), HasSubstr("the file is damaged")));
  }
}

TEST_F(SqliteError, EveryDamagedPageIsDetected) {
  for (int day = 1; day <= 3; ++day) ASSERT_EQ(message_of_adding(sample_history_run(day).run), "none");
  const std::string good = read_text_file(file_);
  for (std::size_t page = 4096; page < good.size(); page += 4096) {
    std::string bad = good;
    bad.replace(page, 4096, 4096, 'x');
    put(bad);
    EXPECT_THAT(message_of_adding(sample_history_run(4).run),
                AllOf(StartsWith(file_), HasSubstr("the file is damaged")))
        << page;
    EXPECT_EQ(read_text_file(file_), bad);
  }
}

TEST_F(SqliteError, OfALargeFileAllTablesButTheObservationsAreChecked) {
  ASSERT_EQ(message_of_adding(sample_history_run(1).run), "none");
  long long page = 0;
  {
    soci::session sql(soci::sqlite3, "dbname=\"" + file_ + "\"");
    sql << "CREATE TABLE large (bytes blob)";
    sql << "INSERT INTO large VALUES (zeroblob(64000000))";
    // This part of the file is not read when a run is added.
    sql << "SELECT rootpage FROM sqlite_master WHERE name = 'acceptances'", soci::into(page);
  }
  ASSERT_GT(std::filesystem::file_size(file_), 64'000'000U);
  EXPECT_EQ(message_of_adding(sample_history_run(2).run), "none");
  {
    std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp((page - 1) * 4096);
    file << std::string(4096, 'x');
  }
  EXPECT_THAT(message_of_adding(sample_history_run(3).run),
              AllOf(StartsWith(file_), HasSubstr("the file is damaged")));
}

TEST_F(SqliteError, AHistoryWithoutAVersionIsDamaged) {
  ASSERT_EQ(message_of_adding(sample_history_run(1).run), "none");
  {
    soci::session sql(soci::sqlite3, "dbname=\"" + file_ + "\"");
    sql << "DELETE FROM peakmark_history";
  }
  EXPECT_THAT(message_of_opening(History::Purpose::read), HasSubstr("it has no version"));
}

}  // namespace
}  // namespace peakmark::history
