// A server of a team: over TCP, with a password.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <soci/soci.h>

#include "base/error.hpp"
#include "history/sample_runs.hpp"
#include "history/test_databases.hpp"

namespace peakmark::history {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class Postgresql : public testing::Test {
 protected:
  void SetUp() override {
    server_ = PostgresqlServer::get();
    if (server_ == nullptr) GTEST_SKIP() << "PostgreSQL is not installed (Debian 12: postgresql)";
    soci::session sql("postgresql", server_->url());
    sql << "SET client_min_messages TO warning";
    sql << "DROP SCHEMA IF EXISTS peakmark CASCADE";
    sql << "DROP ROLE IF EXISTS ada";
    sql << "CREATE ROLE ada LOGIN SUPERUSER PASSWORD 'se/cr@t:?#%'";
  }

  const PostgresqlServer* server_ = nullptr;
};

TEST_F(Postgresql, AUrlWithoutParametersIsEnough) {
  const std::string url = server_->tcp_url("ada", "se%2Fcr%40t%3A%3F%23%25");
  History history(parse_place(url), History::Purpose::write);
  history.add(sample_night(1).run);
  EXPECT_THAT(history.log(), SizeIs(1));
  EXPECT_EQ(history.place().name().find("se%2F"), std::string::npos);
  EXPECT_THAT(history.place().name(), HasSubstr("postgresql://ada@127.0.0.1:"));
}

TEST_F(Postgresql, AWrongPasswordIsNotShown) {
  try {
    const History history(parse_place(server_->tcp_url("ada", "wrongword")), History::Purpose::read);
    FAIL() << "it let us in";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("password authentication failed"), Not(HasSubstr("wrongword"))));
  }
}

}  // namespace
}  // namespace peakmark::history
