// Tests of a team's server, over TCP and with a password.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <soci/soci.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "analyse/history/sample_runs.hpp"
#include "analyse/history/test_databases.hpp"
#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/text_file.hpp"

namespace peakmark::history {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

/// Listens on the loopback interface, but does not accept connections from the system's queue.
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

// The server accepts the connection and never answers, like a host behind a firewall that drops packets.
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

/// A user without privileges.
class PostgresqlUser : public Postgresql {
 protected:
  static constexpr const char* kUser = "Bob 2";

  void SetUp() override {
    Postgresql::SetUp();
    if (server_ == nullptr) return;
    sql_.open("postgresql", server_->url());
    sql_ << "SET client_min_messages TO warning";
    drop_user();
    sql_ << "CREATE ROLE \"Bob 2\" LOGIN";
  }
  void TearDown() override {
    if (server_ == nullptr) return;
    sql_ << "DROP SCHEMA IF EXISTS peakmark CASCADE";
    drop_user();
  }
  void drop_user() {
    sql_ << "DO $$ BEGIN IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'Bob 2') THEN DROP OWNED BY \"Bob "
            "2\"; "
            "DROP ROLE \"Bob 2\"; END IF; END $$";
  }
  /// Returns the error when the user does `work`, or `it is allowed` if there is none.
  std::string error_of(const std::function<void(History&)>& work, History::Purpose purpose) const {
    try {
      History history(parse_address(server_->url("Bob%202")), purpose);
      work(history);
    } catch (const DatabaseError& error) {
      EXPECT_EQ(error.reason(), "its database refuses access to this user");
      EXPECT_THAT(error.what(), HasSubstr("permission denied"));
      return error.what();
    } catch (const Error& error) {
      return error.what();
    }
    return "it is allowed";
  }
  soci::session sql_;
};

void read_all(History& history) {
  history.read();
}

void add_run(History& history) {
  history.add(sample_history_run(2).run, {"main", "main", {}});
}

void accept(History& history) {
  history.add_acceptance({"op/a/opencl", "", "run-01", "bob", "2026-01-02T00:00:00Z", "why"});
}

void keep_sent(History& history) {
  const trend::Notified row{"op/a/opencl", "", "run-01", "abc", trend::NotifiedState::open, ""};
  history.update_notified({}, {row});
}

// The privileges of docs/ci.md#postgresql, to which the message refers, are enough.
TEST_F(PostgresqlUser, NeedsThePrivilegesOfTheTable) {
  const auto advice = HasSubstr("its owner can allow it: docs/ci.md#postgresql lists the privileges");
  EXPECT_THAT(error_of(add_run, History::Purpose::write), advice);
  History(parse_address(server_->url()), History::Purpose::write)
      .add(sample_history_run(1).run, {"main", "main", {}});
  EXPECT_THAT(error_of(read_all, History::Purpose::read), advice);
  sql_ << "GRANT USAGE ON SCHEMA peakmark TO \"Bob 2\"";
  EXPECT_THAT(error_of(read_all, History::Purpose::read), advice) << "the schema alone is not enough";
  sql_ << "GRANT SELECT ON ALL TABLES IN SCHEMA peakmark TO \"Bob 2\"";
  EXPECT_EQ(error_of(read_all, History::Purpose::read), "it is allowed");
  const std::vector<std::pair<std::function<void(History&)>, std::string>> commands{
      {add_run, "INSERT ON runs, plans, cases, facts, observations"},
      {accept, "INSERT, DELETE ON acceptances"},
      {keep_sent, "INSERT, DELETE ON notifications"},
      {[](History& history) {
         history.set({"develop", ""});
       },
       "UPDATE ON peakmark_history"},
      {[](History& history) { history.remove({"run-02"}); },
       "DELETE ON runs, observations, facts, plans, cases, acceptances TO \"Bob 2\"; GRANT UPDATE ON runs"}};
  sql_ << "SET search_path TO peakmark";
  for (const auto& [command, privileges] : commands) {
    EXPECT_THAT(error_of(command, History::Purpose::change), advice);
    sql_ << "GRANT " + privileges + " TO \"Bob 2\"";
    EXPECT_EQ(error_of(command, History::Purpose::change), "it is allowed") << privileges;
  }
}

// The roles in examples/postgresql/roles.sql.
class PostgresqlRoles : public PostgresqlUser {
 protected:
  void SetUp() override {
    PostgresqlUser::SetUp();
    if (server_ == nullptr) return;
    History(parse_address(server_->url()), History::Purpose::write)
        .add(sample_history_run(1).run, {"main", "main", {}});
    for (int time = 0; time < 2; ++time) sql_ << statements();
  }
  /// Returns the script without comments, because SOCI takes the colon of a URL in them for a parameter.
  static std::string statements() {
    std::istringstream script(read_text_file(PEAKMARK_POSTGRESQL_ROLES));
    std::string statements;
    for (std::string line; std::getline(script, line);)
      if (!line.starts_with("--")) statements += line + "\n";
    return statements;
  }
  void TearDown() override {
    PostgresqlUser::TearDown();
    if (server_ != nullptr) sql_ << "DROP ROLE IF EXISTS peakmark_ci, peakmark_notifier, peakmark_reader";
  }
};

TEST_F(PostgresqlRoles, TheJobAddsRunsAndChangesNothing) {
  sql_ << "GRANT peakmark_ci TO \"Bob 2\"";
  EXPECT_EQ(error_of(add_run, History::Purpose::write), "it is allowed");
  EXPECT_EQ(error_of(add_run, History::Purpose::write), "it is allowed") << "the second time changes nothing";
  EXPECT_EQ(error_of(read_all, History::Purpose::read), "it is allowed");
  const std::vector<std::function<void(History&)>> refused{
      accept, keep_sent, [](History& history) { history.remove({"run-01"}); },
      [](History& history) {
        history.set({"develop", ""});
      },
      [](History& history) { history.rename_device("a device", "another"); }};
  for (const auto& command : refused) EXPECT_NE(error_of(command, History::Purpose::change), "it is allowed");
  EXPECT_THAT(History(parse_address(server_->url()), History::Purpose::read).log(), SizeIs(2));
}

TEST_F(PostgresqlRoles, TheReaderReads) {
  sql_ << "GRANT peakmark_reader TO \"Bob 2\"";
  EXPECT_EQ(error_of(read_all, History::Purpose::read), "it is allowed");
  EXPECT_NE(error_of(add_run, History::Purpose::write), "it is allowed");
  EXPECT_NE(error_of(keep_sent, History::Purpose::change), "it is allowed");
}

TEST_F(PostgresqlRoles, TheNotifierKeepsWhatWasSent) {
  sql_ << "GRANT peakmark_notifier TO \"Bob 2\"";
  EXPECT_EQ(error_of(keep_sent, History::Purpose::change), "it is allowed");
  EXPECT_NE(error_of(add_run, History::Purpose::write), "it is allowed");
}

TEST_F(PostgresqlRoles, TheJobDoesNotDecideTheBaseBranch) {
  sql_ << "UPDATE peakmark.peakmark_history SET base_branch = ''";
  sql_ << "GRANT peakmark_ci TO \"Bob 2\"";
  EXPECT_THAT(error_of(add_run, History::Purpose::write),
              HasSubstr("its owner can: `peakmark history set --base-branch main`"));
  EXPECT_THAT(History(parse_address(server_->url()), History::Purpose::read).log(), SizeIs(1));
}

}  // namespace
}  // namespace peakmark::history
