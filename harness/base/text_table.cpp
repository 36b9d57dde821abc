#include "base/text_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"

namespace peakmark {
namespace {

/// Returns the width in characters: continuation bytes of UTF-8 take no column.
std::size_t width(std::string_view cell) {
  return static_cast<std::size_t>(std::count_if(
      cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns)
    : columns_(std::move(columns)), widths_(columns_.size(), 0) {
  std::vector<std::string> titles;
  titles.reserve(columns_.size());
  for (const Column& column : columns_) titles.push_back(column.title);
  add(std::move(titles));
}

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size())
    throw std::logic_error("TextTable: a row needs one cell for each column");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = one_line(cells[i]);
    widths_[i] = std::max(widths_[i], width(cell));
    cells_ += cell;
    cells_ += '\n';
  }
}

std::string TextTable::text() const {
  return text(std::vector<bool>(columns_.size(), true));
}

std::string TextTable::text_within(std::size_t max_width,
                                   std::initializer_list<std::string_view> optional) const {
  std::vector<bool> shown(columns_.size(), true);
  std::size_t total = 2 * (columns_.size() - 1);
  for (const std::size_t one : widths_) total += one;
  for (const std::string_view title : optional) {
    if (total <= max_width) break;
    const auto column = std::ranges::find(columns_, title, &Column::title);
    if (column == columns_.end()) continue;
    const auto place = static_cast<std::size_t>(column - columns_.begin());
    shown[place] = false;
    total -= widths_[place] + 2;
  }
  return text(shown);
}

std::string TextTable::text(const std::vector<bool>& shown) const {
  std::string text;
  std::string line;
  for (std::size_t begin = 0; begin < cells_.size();) {
    line.clear();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::size_t end = cells_.find('\n', begin);
      const std::string_view cell = std::string_view(cells_).substr(begin, end - begin);
      begin = end + 1;
      if (!shown[i]) continue;
      if (i != 0) line += "  ";
      const std::size_t blanks = widths_[i] - width(cell);
      if (columns_[i].align == Align::right) line.append(blanks, ' ');
      line += cell;
      if (columns_[i].align == Align::left) line.append(blanks, ' ');
    }
    text.append(line, 0, line.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

MarkdownTable::MarkdownTable(std::vector<TextTable::Column> columns, std::size_t max_bytes)
    : columns_(std::move(columns)), max_bytes_(max_bytes), text_("|") {
  for (const TextTable::Column& column : columns_) text_ += " " + column.title + " |";
  text_ += "\n|";
  for (const TextTable::Column& column : columns_) {
    text_ += column.align == TextTable::Align::left ? "---|" : "---:|";
  }
  text_ += "\n";
}

void MarkdownTable::add(const std::vector<std::string>& cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("MarkdownTable: wrong number of cells");
  std::string row = "|";
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const TextTable::Format format = columns_[i].format;
    row += " ";
    row += format == TextTable::Format::text   ? markdown_cell(cells[i])
           : format == TextTable::Format::name ? markdown_code(cells[i])
                                               : cells[i];
    row += " |";
  }
  row += "\n";
  if (left_out_ > 0 || text_.size() + row.size() > max_bytes_) {
    ++left_out_;
  } else {
    text_ += row;
  }
}

}  // namespace peakmark
