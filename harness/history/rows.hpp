#pragma once

// For the sources of this room only.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "history/database.hpp"

namespace peakmark::history {

using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

inline Value null_or(const std::optional<std::int64_t>& value) {
  return value ? Value(*value) : Value();
}
inline Value null_or(const std::optional<double>& value) {
  return value ? Value(*value) : Value();
}
inline Value null_or(const std::optional<std::string>& value) {
  return value ? Value(*value) : Value();
}

/// Adds rows to a table, many in one statement: a database far away costs a round trip a statement, not a
/// row.
class RowWriter {
 public:
  /// `columns` as in SQL: `run_number, case_number`.
  RowWriter(Database& database, std::string table, std::string columns);
  void add(std::vector<Value> row);
  /// Writes what is left; without it, that is lost.
  void finish();

 private:
  void write();

  Database& database_;
  std::string head_;
  std::vector<std::vector<Value>> rows_;
};

/// Rows a statement; with the columns of our tables a few thousand values, fewer than either database allows.
inline constexpr std::size_t kRowsAStatement = 200;

}  // namespace peakmark::history
