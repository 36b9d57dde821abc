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

enum class Access : std::uint8_t { read, write };

/// An open database, of either kind. What fails in it is told as a UsageError: the place, what the database
/// says, what to do.
class Database {
 public:
  /// `read` wants a database that is there; `write` makes one. A lock of another process is waited for up to
  /// `patience`.
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
  /// Throws the UsageError.
  [[noreturn]] void tell(const soci::soci_error& error) const;
  [[noreturn]] void fail(const std::string& what) const;

  /// The history's table that says its version is there.
  bool has_history();

 private:
  void open_sqlite(Access access);
  void check_pages();
  void open_postgresql();

  Place place_;
  std::chrono::milliseconds patience_;
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
