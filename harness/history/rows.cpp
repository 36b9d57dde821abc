#include "history/rows.hpp"

#include <fmt/format.h>

#include <utility>

namespace peakmark::history {
namespace {

/// Binds a value by its place. It must live until the statement is over.
void bind(soci::statement& statement, Value& value) {
  static soci::indicator null = soci::i_null;
  static std::string nothing;
  if (auto* integer = std::get_if<std::int64_t>(&value)) {
    statement.exchange(soci::use(*integer));
  } else if (auto* number = std::get_if<double>(&value)) {
    statement.exchange(soci::use(*number));
  } else if (auto* text = std::get_if<std::string>(&value)) {
    statement.exchange(soci::use(*text));
  } else {
    statement.exchange(soci::use(nothing, null));
  }
}

}  // namespace

RowWriter::RowWriter(Database& database, std::string table, std::string columns)
    : database_(database), head_(fmt::format("INSERT INTO {} ({}) VALUES ", table, columns)) {}

void RowWriter::add(std::vector<Value> row) {
  rows_.push_back(std::move(row));
  if (rows_.size() == kRowsAStatement) write();
}

void RowWriter::finish() {
  if (!rows_.empty()) write();
}

void RowWriter::write() {
  std::string text = head_;
  std::size_t place = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    text += row == 0 ? "(" : ", (";
    for (std::size_t column = 0; column < rows_[row].size(); ++column) {
      text += fmt::format("{}:v{}", column == 0 ? "" : ", ", place++);
    }
    text += ")";
  }
  soci::statement statement(database_.sql());
  for (std::vector<Value>& row : rows_) {
    for (Value& value : row) bind(statement, value);
  }
  statement.alloc();
  statement.prepare(text);
  statement.define_and_bind();
  statement.execute(true);
  rows_.clear();
}

}  // namespace peakmark::history
