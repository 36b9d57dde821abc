#pragma once

// For the sources of this room only.

#include <cstdint>
#include <memory>
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

/// Of the values of a column, null or not.
enum class ColumnType : std::uint8_t { integer, real, text };
struct Column {
  const char* name;
  ColumnType type;
};

/// Adds rows to a table, many in one statement: a database far away costs a round trip a statement, not a
/// row. The statement is prepared once: SQLite takes a time quadratic in its values for that.
class RowWriter {
 public:
  RowWriter(Database& database, std::string table, std::vector<Column> columns);
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;
  /// A value a column, each of its column's type or null.
  void add(std::vector<Value> row);
  /// Writes what is left; without it, that is lost.
  void finish();

 private:
  /// What a statement is bound to: it stays at its place while the statement lives.
  struct Cell {
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
    soci::indicator present = soci::i_null;
  };

  std::unique_ptr<soci::statement> prepared(std::size_t rows);

  Database& database_;
  std::string table_;
  std::vector<Column> columns_;
  std::vector<Cell> cells_;  ///< of as many rows as a statement has
  std::size_t rows_ = 0;     ///< that are in `cells_`
  std::unique_ptr<soci::statement> of_all_rows_;
};

/// Rows a statement; with the columns of our tables a few thousand values, fewer than either database allows.
inline constexpr std::size_t kRowsAStatement = 200;

}  // namespace peakmark::history
