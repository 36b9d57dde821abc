#include "base/report.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace peakmark {

std::string to_text(const nlohmann::ordered_json& value, As as, const std::string& absent) {
  if (value.is_null()) return absent;
  switch (as) {
    case As::size:
      return format_size(value.get<Size>());
    case As::bytes:
      return fmt::format("{} B", value.get<Size>());
    case As::change:
      return value == 0 ? "0" : fmt::format("{:+}", value.get<Size>());
    case As::duration:
      return format_duration(value.get<double>());
    case As::ratio:
      return fmt::format("{:.3f}", value.get<double>());
    default:
      break;
  }
  if (value.is_array()) return value.empty() ? absent : value.front().get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (!value.is_string()) return value.dump();
  auto text = value.get<std::string>();
  return text.empty() ? absent : text;
}

std::string size_with_bytes(Size bytes) {
  return bytes < 1024 ? format_size(bytes) : fmt::format("{} ({} B)", format_size(bytes), bytes);
}

TextTable::Column to_column(std::string title, As as) {
  using enum TextTable::Align;
  using Format = TextTable::Format;
  if (as == As::name) return {std::move(title), left, Format::name};
  if (as == As::markdown) return {std::move(title), left, Format::markdown};
  return {std::move(title), as == As::text || as == As::lines ? left : right};
}

void add_further_lines(TextTable& table, const nlohmann::ordered_json& lines, std::size_t column,
                       std::size_t columns, const std::string& indent) {
  for (std::size_t line = 1; line < lines.size(); ++line) {
    std::vector<std::string> cells(columns);
    cells[column] = indent + "  " + lines[line].get<std::string>();
    table.add(std::move(cells));
  }
}

}  // namespace peakmark
