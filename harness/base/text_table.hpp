#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// A table for the console. Columns are as wide as their widest cell, counted in UTF-8 characters, with two
/// blanks between them.
class TextTable {
 public:
  enum class Align { left, right };
  /// How MarkdownTable writes cells: escaped, as a name between backticks, or as they are.
  enum class Format { text, name, markdown };
  struct Column {
    std::string title;
    Align align = Align::left;
    Format format = Format::text;
  };

  explicit TextTable(std::vector<Column> columns);
  /// As many cells as there are columns. What a terminal would obey stands in them escaped (one_line).
  void add(std::vector<std::string> cells);
  /// Title line and rows, each with a newline and without blanks at its end.
  [[nodiscard]] std::string text() const;
  /// The same, without the columns of these titles, from the first on, as long as it is wider than
  /// `max_width` characters.
  [[nodiscard]] std::string text_within(std::size_t max_width,
                                        std::initializer_list<std::string_view> optional) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  [[nodiscard]] std::string text(const std::vector<bool>& shown) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A markdown table with a limit of length. It keeps no rows, so that a table of a million rows needs no
/// memory.
class MarkdownTable {
 public:
  /// `max_bytes`: of the whole table.
  MarkdownTable(std::vector<TextTable::Column> columns, std::size_t max_bytes);
  /// Adds a row, unless the table gets too long or an earlier row was left out.
  void add(const std::vector<std::string>& cells);
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  std::vector<TextTable::Column> columns_;
  std::size_t max_bytes_;
  std::string text_;
  std::size_t left_out_ = 0;
};

/// A column and what it shows of a `Row`. A list of them defines a table once: titles, order and cells.
template <typename Row>
struct Field {
  TextTable::Column column;
  std::function<std::string(const Row&)> cell;
};

template <typename Row>
std::vector<TextTable::Column> columns(const std::vector<Field<Row>>& fields) {
  std::vector<TextTable::Column> all;
  for (const Field<Row>& field : fields) all.push_back(field.column);
  return all;
}

template <typename Row>
std::vector<std::string> cells(const std::vector<Field<Row>>& fields, const Row& row) {
  std::vector<std::string> all;
  for (const Field<Row>& field : fields) all.push_back(field.cell(row));
  return all;
}

}  // namespace peakmark
