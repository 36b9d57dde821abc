// A server of a team: over TCP, with a password.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <soci/soci.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "history/sample_runs.hpp"
#include "history/test_databases.hpp"

namespace peakmark::history {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// Listens on the loopback, and takes no connection from the system's queue.
class SilentServer {
 public:
  SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const place = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_.get(), place, length) != 0 || ::listen(listener_.get(), 1) != 0 ||
        ::getsockname(listener_.get(), place, &length) != 0) {
      throw std::runtime_error("no TCP port on the loopback");
    }
    port_ = ntohs(address.sin_port);
  }
  [[nodiscard]] int port() const { return port_; }

 private:
  Descriptor listener_;
  int port_ = 0;
};

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
  History history(parse_address(url), History::Purpose::write);
  history.add(sample_history_run(1).run);
  EXPECT_THAT(history.log(), SizeIs(1));
  EXPECT_EQ(history.address().name().find("se%2F"), std::string::npos);
  EXPECT_THAT(history.address().name(), HasSubstr("postgresql://ada@127.0.0.1:"));
}

TEST_F(Postgresql, AWrongPasswordIsNotShown) {
  try {
    const History history(parse_address(server_->tcp_url("ada", "wrongword")), History::Purpose::read);
    FAIL() << "it let us in";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("password authentication failed"), Not(HasSubstr("wrongword"))));
    EXPECT_EQ(error.reason(), "its database cannot be reached, or refuses the connection");
  }
}

TEST_F(Postgresql, ADatabaseThatDoesNotExistIsAWrongName) {
  std::string url = server_->url();
  url.replace(url.find("/postgres?"), 10, "/postgers?");
  try {
    const History history(parse_address(url), History::Purpose::write);
    FAIL() << "it let us in";
  } catch (const DatabaseError& error) {
    FAIL() << "as if it were down: " << error.what();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"postgers\" does not exist; check its name"));
  }
}

// As a host behind a firewall that drops packets: it takes the connection, and never answers.
TEST_F(Postgresql, AServerThatDoesNotAnswerIsGivenUp) {
  const SilentServer server;
  const std::string url = fmt::format("postgresql://127.0.0.1:{}/bench?connect_timeout=2", server.port());
  try {
    const History history(parse_address(url), History::Purpose::read);
    FAIL() << "it let us in";
  } catch (const DatabaseError& error) {
    EXPECT_THAT(error.what(), HasSubstr("timeout expired"));
    EXPECT_EQ(error.reason(), "its database cannot be reached, or refuses the connection");
  }
}

// The message holds the SQL: its owner executes it, and the history can be used.
TEST_F(Postgresql, MissingPrivilegesAreNamed) {
  soci::session sql("postgresql", server_->url());
  sql << "DROP ROLE IF EXISTS \"Bob 2\"";
  sql << "CREATE ROLE \"Bob 2\" LOGIN";
  const auto grant_of = [&](const std::function<void(History&)>& work, History::Purpose purpose) {
    try {
      History history(parse_address(server_->url("Bob%202")), purpose);
      work(history);
    } catch (const DatabaseError& error) {
      EXPECT_EQ(error.reason(), "its database refuses access to this user");
      const std::string text = error.what();
      EXPECT_THAT(text, HasSubstr("permission denied"));
      return text.substr(std::min(text.find("GRANT"), text.size()));
    }
    return std::string("it is allowed");
  };
  const auto read = [](History& history) { history.read(); };
  const auto add = [](History& history) { history.add(sample_history_run(2).run); };

  const std::string create = grant_of(add, History::Purpose::write);
  EXPECT_THAT(create, HasSubstr("GRANT CREATE ON DATABASE postgres TO \"Bob 2\""));
  History(parse_address(server_->url()), History::Purpose::write).add(sample_history_run(1).run);
  const std::string to_read = grant_of(read, History::Purpose::read);
  EXPECT_THAT(to_read, HasSubstr("GRANT SELECT ON ALL TABLES IN SCHEMA peakmark TO \"Bob 2\""));
  sql << "GRANT USAGE ON SCHEMA peakmark TO \"Bob 2\"";
  EXPECT_EQ(grant_of(read, History::Purpose::read), to_read) << "the schema alone is not enough";
  sql << to_read;
  EXPECT_EQ(grant_of(read, History::Purpose::read), "it is allowed");
  sql << grant_of(add, History::Purpose::write);
  EXPECT_EQ(grant_of(add, History::Purpose::write), "it is allowed");
  sql << "DROP SCHEMA peakmark CASCADE";
  sql << "REVOKE ALL ON DATABASE postgres FROM \"Bob 2\"";
  sql << "DROP ROLE \"Bob 2\"";
}

}  // namespace
}  // namespace peakmark::history
