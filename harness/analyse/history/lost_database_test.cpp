// Tests of a PostgreSQL server that disappears in the middle of an addition.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <soci/soci.h>

#include "analyse/history/history.hpp"
#include "analyse/history/sample_runs.hpp"
#include "analyse/history/test_databases.hpp"

namespace peakmark::history {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Backoff, WaitsDoubleUpToALimitAndAddUp) {
  EXPECT_THAT(backoff_waits(seconds(30)),
              ElementsAre(seconds(1), seconds(2), seconds(4), seconds(8), seconds(15)));
  EXPECT_THAT(backoff_waits(seconds(50)), ElementsAre(seconds(1), seconds(2), seconds(4), seconds(8),
                                                      seconds(16), seconds(16), seconds(3)));
  EXPECT_THAT(backoff_waits(milliseconds(1)), ElementsAre(milliseconds(1)));
  EXPECT_THAT(backoff_waits(milliseconds(0)), SizeIs(0));
}

class LostDatabase : public testing::Test {
 protected:
  void SetUp() override {
    server_ = PostgresqlServer::get();
    if (server_ == nullptr) GTEST_SKIP() << "PostgreSQL is not installed (Debian 12: postgresql)";
    sql_.open("postgresql", server_->url());
    sql_ << "SET client_min_messages TO warning";
    sql_ << "DROP SCHEMA IF EXISTS peakmark CASCADE";
    const History history(address(), History::Purpose::write);
  }
  void TearDown() override {
    if (server_ != nullptr) sql_ << "DROP SCHEMA IF EXISTS peakmark CASCADE";
  }
  Address address() const { return parse_address(server_->url()); }

  /// In the next `adds` additions, the server ends the connection when the first rows of `observations` are
  /// written. A sequence keeps its count when the transaction is rolled back.
  void lose_connections(int adds) {
    sql_ << "CREATE SEQUENCE peakmark.lost_adds";
    sql_ << "CREATE FUNCTION peakmark.lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF "
            "nextval(''peakmark.lost_adds'') <= " +
                std::to_string(adds) +
                " THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; RETURN NULL; END'";
    sql_ << "CREATE TRIGGER lose AFTER INSERT ON peakmark.observations FOR EACH STATEMENT EXECUTE FUNCTION "
            "peakmark.lose()";
  }
  int rows(const std::string& table) {
    int count = -1;
    sql_ << "SELECT count(*) FROM peakmark." + table, soci::into(count);
    return count;
  }
  Added add_with_retries(const std::vector<milliseconds>& waits) {
    return with_retries(
        waits,
        [&] {
          History history(address(), History::Purpose::write);
          return history.add(sample_history_run(1).run);
        },
        [&](const DatabaseLost& error, milliseconds wait) {
          messages_.emplace_back(error.what());
          waits_.push_back(wait);
        });
  }

  PostgresqlServer* server_ = nullptr;
  soci::session sql_;
  std::vector<std::string> messages_;
  std::vector<milliseconds> waits_;
};

TEST_F(LostDatabase, TheAddIsTriedAgainOnANewConnection) {
  lose_connections(2);
  const Added added = add_with_retries(backoff_waits(seconds(30)));
  EXPECT_FALSE(added.was_there);
  EXPECT_EQ(added.runs_of_device, 1);
  EXPECT_THAT(waits_, ElementsAre(seconds(1), seconds(2)));
  EXPECT_THAT(messages_,
              testing::Each(AllOf(HasSubstr("connection lost"), HasSubstr("nothing of this run was added"))));
  EXPECT_EQ(rows("runs"), 1);
  EXPECT_EQ(rows("observations"), static_cast<int>(sample_history_run(1).run.observations.size()));
}

TEST_F(LostDatabase, NothingIsHalfWritten) {
  lose_connections(1000);
  EXPECT_THROW(add_with_retries(backoff_waits(seconds(3))), DatabaseLost);
  EXPECT_THAT(waits_, ElementsAre(seconds(1), seconds(2)));
  for (const std::string table : {"runs", "plans", "cases", "facts", "observations"})
    EXPECT_EQ(rows(table), 0) << table;
}

// The lost message may be the answer to COMMIT.
TEST_F(LostDatabase, AnAddThatWasCommittedIsNotMadeTwice) {
  int attempts = 0;
  const Added added = with_retries(
      backoff_waits(seconds(1)),
      [&] {
        History history(address(), History::Purpose::write);
        const Added one = history.add(sample_history_run(1).run);
        if (++attempts == 1) throw DatabaseLost("connection lost", "lost");
        return one;
      },
      [](const DatabaseLost& /*error*/, milliseconds /*wait*/) {});
  EXPECT_TRUE(added.was_there);
  EXPECT_EQ(rows("runs"), 1);
}

TEST_F(LostDatabase, OtherErrorsAreNotTriedAgain) {
  sql_ << "DROP TABLE peakmark.observations CASCADE";
  try {
    add_with_retries(backoff_waits(seconds(30)));
    ADD_FAILURE();
  } catch (const DatabaseLost& error) {
    ADD_FAILURE() << error.what();
  } catch (const Error&) {
  }
  EXPECT_THAT(waits_, SizeIs(0));
  std::string refused = server_->tcp_url("nobody", "wrong");
  EXPECT_THROW(History(parse_address(refused), History::Purpose::write), DatabaseError);
  try {
    const History history(parse_address(refused), History::Purpose::write);
  } catch (const DatabaseLost& error) {
    ADD_FAILURE() << error.what();
  } catch (const DatabaseError&) {
  }
}

TEST_F(LostDatabase, AServerThatIsNotThereIsLost) {
  EXPECT_THROW(History(parse_address("postgresql:///x?host=/none"), History::Purpose::write), DatabaseLost);
}

}  // namespace
}  // namespace peakmark::history
