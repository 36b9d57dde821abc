#include "base/report.hpp"

#include <fmt/format.h>

#include "base/size.hpp"
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
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (!value.is_string()) return value.dump();
  auto text = value.get<std::string>();
  return text.empty() ? absent : text;
}

TextTable::Column to_column(std::string title, As as) {
  using enum TextTable::Align;
  using Format = TextTable::Format;
  if (as == As::name) return {std::move(title), left, Format::name};
  if (as == As::markdown) return {std::move(title), left, Format::markdown};
  return {std::move(title), as == As::text ? left : right};
}

}  // namespace peakmark
