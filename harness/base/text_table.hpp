#pragma once

#include <string>
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

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace peakmark
