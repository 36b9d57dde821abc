#include "history/rows.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace peakmark::history {

RowWriter::RowWriter(Database& database, std::string table, std::vector<Column> columns)
    : database_(database),
      table_(std::move(table)),
      columns_(std::move(columns)),
      cells_(kRowsAStatement * columns_.size()) {}

void RowWriter::add(std::vector<Value> row) {
  if (row.size() != columns_.size()) throw std::logic_error("a row of another length than its columns");
  Cell* cell = &cells_[rows_ * columns_.size()];
  for (std::size_t column = 0; column < row.size(); ++column, ++cell) {
    cell->present = std::holds_alternative<std::monostate>(row[column]) ? soci::i_null : soci::i_ok;
    if (cell->present == soci::i_null) continue;
    switch (columns_[column].type) {
      case ColumnType::integer:
        cell->integer = std::get<std::int64_t>(row[column]);
        break;
      case ColumnType::real:
        cell->real = std::get<double>(row[column]);
        break;
      case ColumnType::text:
        cell->text = std::move(std::get<std::string>(row[column]));
        break;
    }
  }
  if (++rows_ < kRowsAStatement) return;
  if (!of_all_rows_) of_all_rows_ = prepared(rows_);
  of_all_rows_->execute(true);
  rows_ = 0;
}

void RowWriter::finish() {
  if (rows_ > 0) prepared(rows_)->execute(true);
  rows_ = 0;
}

std::unique_ptr<soci::statement> RowWriter::prepared(std::size_t rows) {
  std::string text = fmt::format("INSERT INTO {} (", table_);
  for (const Column& column : columns_) {
    text += fmt::format("{}{}", &column == columns_.data() ? "" : ", ", column.name);
  }
  text += ") VALUES ";
  auto statement = std::make_unique<soci::statement>(database_.sql());
  for (std::size_t place = 0; place < rows * columns_.size(); ++place) {
    const std::size_t column = place % columns_.size();
    text += fmt::format("{}:v{}", column != 0 ? ", " : place == 0 ? "(" : "), (", place);
    Cell& cell = cells_[place];
    switch (columns_[column].type) {
      case ColumnType::integer:
        statement->exchange(soci::use(cell.integer, cell.present));
        break;
      case ColumnType::real:
        statement->exchange(soci::use(cell.real, cell.present));
        break;
      case ColumnType::text:
        statement->exchange(soci::use(cell.text, cell.present));
        break;
    }
  }
  statement->alloc();
  statement->prepare(text + ")");
  statement->define_and_bind();
  return statement;
}

}  // namespace peakmark::history
