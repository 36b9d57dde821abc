#pragma once

#include <soci/session.h>
#include <soci/soci.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "analyse/history/address.hpp"

namespace peakmark::history {

/// `change` may write to an existing database; `write` may also create one.
enum class Access : std::uint8_t { read, change, write };

/// An open SQLite or PostgreSQL database. Its errors are DatabaseErrors (history.hpp) with the address, the
/// database's message and what to do.
class Database {
 public:
  /// Opens the database; only `write` creates it. Waits up to `patience` for locks of other processes.
  Database(Address address, Access access, std::chrono::milliseconds patience);

  [[nodiscard]] const Address& address() const { return address_; }
  [[nodiscard]] bool is_postgresql() const { return address_.kind == Address::Kind::postgresql; }
  soci::session& sql() { return sql_; }

  /// Runs `work` and converts errors of the database to DatabaseErrors.
  template <typename Work>
  auto guarded(Work&& work) {
    try {
      return std::forward<Work>(work)();
    } catch (const soci::soci_error& error) {
      fail(error);
    }
  }
  /// Throws DatabaseError; DatabaseLost if the server no longer answers.
  [[noreturn]] void fail(const soci::soci_error& error);
  [[noreturn]] void fail(const std::string& what) const;

  /// Returns whether this user may execute statements that need the privilege.
  bool is_allowed(const char* privilege, const char* table);

  /// Returns true if the table with the history's version exists.
  bool has_history();
  /// Throws UsageError: there is no history at this address.
  [[noreturn]] void fail_without_history() const;

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& reason) const;
  /// Returns whether a statement is still answered. Not within a transaction, which may be aborted.
  bool answers();
  void open_sqlite();
  void check_locks();
  void check_pages();
  void open_postgresql();

  Address address_;
  Access access_;
  std::chrono::milliseconds patience_;
  soci::session sql_;
};

/// A transaction; rolled back unless committed. `write` takes the lock that all writers of histories take.
class Transaction {
 public:
  Transaction(Database& database, Access access);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool is_open_ = true;
};

/// The schema version that this peakmark reads and writes (docs/formats.md has the tables).
inline constexpr int kSchemaVersion = 1;

/// Returns whether `observations` has the column `metrics`, which early histories lack.
bool has_metrics(Database& database);
/// Adds that column if it is missing.
void add_metrics(Database& database);

/// Creates the tables if there are none (for `write`). Safe for concurrent processes. Throws UsageError for
/// another schema version, for a database of another program, and if there is no history to read or change.
void open_tables(Database& database, Access access);

}  // namespace peakmark::history
