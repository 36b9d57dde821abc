#pragma once

// For the sources of this room only: SOCI stays behind it.

#include <soci/session.h>
#include <soci/soci.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "history/place.hpp"

namespace peakmark::history {

/// `change` writes too, and makes no database.
enum class Access : std::uint8_t { read, change, write };

/// An open database, of either kind. What fails in it is a DatabaseError (history.hpp): the place, what the
/// database says, what to do.
class Database {
 public:
  /// `read` and `change` want a database that is there; `write` makes one. A lock of another process is
  /// waited for up to `patience`.
  Database(Place place, Access access, std::chrono::milliseconds patience);

  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] bool is_postgresql() const { return place_.kind == Place::Kind::postgresql; }
  soci::session& sql() { return sql_; }

  /// What `work` gives; an error of the database in it is told.
  template <typename Work>
  auto told(Work&& work) {
    try {
      return std::forward<Work>(work)();
    } catch (const soci::soci_error& error) {
      tell(error);
    }
  }
  /// Throws the DatabaseError.
  [[noreturn]] void tell(const soci::soci_error& error) const;
  [[noreturn]] void fail(const std::string& what) const;

  /// The history's table that says its version is there.
  bool has_history();
  /// Throws the UsageError of a place without a history.
  [[noreturn]] void fail_without_history() const;

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& reason) const;
  [[nodiscard]] std::string grant() const;
  void open_sqlite();
  void check_pages();
  void open_postgresql();

  Place place_;
  Access access_;
  std::chrono::milliseconds patience_;
  std::string user_;           ///< of PostgreSQL, quoted as in SQL
  std::string database_name_;  ///< the same
  soci::session sql_;
};

/// All or nothing. A `write` waits until no other process writes a history there, and holds others off.
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

}  // namespace peakmark::history
