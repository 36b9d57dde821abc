#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

/// A table for the console: columns as wide as their widest cell (counted in UTF-8 characters), two blanks
/// between.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
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

}  // namespace peakmark
