#include "base/text_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "base/text.hpp"

namespace peakmark {
namespace {

/// Returns the width in characters: continuation bytes of UTF-8 take no column.
std::size_t width(const std::string& cell) {
  return static_cast<std::size_t>(std::count_if(
      cell.begin(), cell.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  rows_.push_back(std::move(titles));
}

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size())
    throw std::logic_error("TextTable: a row needs one cell for each column");
  for (std::string& cell : cells) cell = one_line(cell);
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> TextTable::widths() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  return widths;
}

std::string TextTable::text() const {
  return text(std::vector<bool>(columns_.size(), true));
}

std::string TextTable::text_within(std::size_t max_width,
                                   std::initializer_list<std::string_view> optional) const {
  const std::vector<std::size_t> widths = this->widths();
  std::vector<bool> shown(columns_.size(), true);
  std::size_t total = 2 * (columns_.size() - 1);
  for (const std::size_t one : widths) total += one;
  for (const std::string_view title : optional) {
    if (total <= max_width) break;
    const auto column = std::ranges::find(columns_, title, &Column::title);
    if (column == columns_.end()) continue;
    const auto place = static_cast<std::size_t>(column - columns_.begin());
    shown[place] = false;
    total -= widths[place] + 2;
  }
  return text(shown);
}

std::string TextTable::text(const std::vector<bool>& shown) const {
  const std::vector<std::size_t> widths = this->widths();
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!shown[i]) continue;
      if (i != 0) line += "  ";
      const std::string blanks(widths[i] - width(row[i]), ' ');
      line += columns_[i].align == Align::left ? row[i] + blanks : blanks + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
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
