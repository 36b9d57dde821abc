#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace peakmark {

/// A table for the console. Columns are as wide as their widest cell in UTF-8 characters, with two blanks
/// between them. A table of a million rows takes only the memory of its text.
class TextTable {
 public:
  enum class Align { left, right };
  /// How MarkdownTable writes cells: escaped, as a name between backticks, or unchanged.
  enum class Format { text, name, markdown };
  struct Column {
    std::string title;
    Align align = Align::left;
    Format format = Format::text;
  };

  explicit TextTable(std::vector<Column> columns);
  /// Adds a row with a cell for each column. Control characters in cells are escaped (one_line).
  void add(std::vector<std::string> cells);
  /// Returns the title line and the rows, each with a newline and without trailing blanks.
  [[nodiscard]] std::string text() const;
  /// Like text(), but omits columns with these titles, in this order, until the table has at most `max_width`
  /// characters.
  [[nodiscard]] std::string text_within(std::size_t max_width,
                                        std::initializer_list<std::string_view> optional) const;

 private:
  [[nodiscard]] std::string text(const std::vector<bool>& shown) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::string cells_;  ///< of the titles and all rows, each with a newline
};

/// A markdown table with a maximum length. It keeps no rows, so that a table of a million rows needs no
/// memory.
class MarkdownTable {
 public:
  /// `max_bytes`: of the whole table.
  MarkdownTable(std::vector<TextTable::Column> columns, std::size_t max_bytes);
  /// Adds a row, unless the table gets too long or an earlier row was omitted.
  void add(const std::vector<std::string>& cells);
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  std::vector<TextTable::Column> columns_;
  std::size_t max_bytes_;
  std::string text_;
  std::size_t left_out_ = 0;
};

/// Returns the line `and N more` below a shortened list; empty if the list is complete.
inline std::string more_than(std::size_t max, std::size_t all) {
  if (all <= max) return {};
  return "  and " + std::to_string(all - max) + " more; --json has them all\n";
}

/// Returns a table of the first `max` elements of a list, and how many more there are. `add(table, one)` adds
/// the rows of an element.
template <typename List, typename Add>
std::string first_rows(TextTable table, std::size_t max, const List& all, Add&& add) {
  std::size_t shown = 0;
  for (const auto& one : all) {
    if (shown++ == max) break;
    add(table, one);
  }
  return table.text() + more_than(max, all.size());
}

}  // namespace peakmark
