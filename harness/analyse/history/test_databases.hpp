#pragma once

// For tests: SQLite files and a private PostgreSQL server.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/history/history.hpp"
#include "base/files_testing.hpp"

namespace peakmark::history {

using Values = std::vector<std::optional<double>>;

/// A PostgreSQL server on a socket in a temporary folder and on the loopback interface. It ends with the
/// process. All tests of a program share one server, since starting it takes a second or two.
class PostgresqlServer {
 public:
  /// Starts the server on first use. Returns null if PostgreSQL is not installed.
  static PostgresqlServer* get();
  [[nodiscard]] std::string url(const std::string& user = "peakmark") const;
  /// Returns a URL for TCP, which needs a password (escaped as in URLs); without a query.
  [[nodiscard]] std::string tcp_url(const std::string& user, const std::string& password) const;

  PostgresqlServer();
  ~PostgresqlServer();
  PostgresqlServer(const PostgresqlServer&) = delete;
  PostgresqlServer& operator=(const PostgresqlServer&) = delete;

 private:
  TemporaryFolder folder_;
  int process_ = -1;
  int port_ = 0;
};

/// A test for both kinds of database; each test begins with an empty one.
class OnBothDatabases : public testing::TestWithParam<Address::Kind> {
 protected:
  void SetUp() override;
  [[nodiscard]] Address address() const { return parse_address(address_); }
  [[nodiscard]] bool is_postgresql() const { return GetParam() == Address::Kind::postgresql; }
  [[nodiscard]] History open() const { return History(address(), History::Purpose::write); }
  [[nodiscard]] History open_to_read() const { return History(address(), History::Purpose::read); }
  static std::vector<std::string> ids_of(History&& history);
  static Values values_of(const trend::DeviceHistory& device, const std::string& case_name,
                          std::string_view metric);
  /// Returns the message of the Error that `work` throws; `none` if it throws none.
  static std::string message_of(const std::function<void()>& work);
  /// Executes SQL directly, without the code under test.
  void execute(const std::string& sql) const;
  /// Takes the lock of a writer, writes a byte to `pipe` and never returns. Call it in a separate process.
  [[noreturn]] void hold_lock(int pipe) const;
  /// For PostgreSQL: takes the lock of a writer and writes a byte to `pipe`, writes another byte when one
  /// process waits for the lock, and releases the lock when two wait: they get it in the order in which they
  /// came.
  void hold_lock_until_two_wait(int pipe) const;

  TemporaryFolder folder_;
  std::string address_;
};

std::string kind_name(const testing::TestParamInfo<Address::Kind>& info);

}  // namespace peakmark::history
