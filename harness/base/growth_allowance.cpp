#include "base/growth_allowance.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace peakmark {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

std::int64_t parse_percentage(std::string_view text) {
  double percent = 0;
  const std::string_view digits = text.substr(0, text.find_first_of(" %"));
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), percent, std::chars_format::fixed);
  const std::string_view unit = text.substr(digits.size());
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if (!is_number || (unit != "%" && unit != " %") || !(percent >= 0 && percent <= 100)) {
    throw UsageError(fmt::format("'{}' is not a percentage: write 0 to 100 and %, such as 0.1%", text));
  }
  constexpr auto kBillionthsOfAPercent = static_cast<double>(kBillion) / 100;
  return std::llround(percent * kBillionthsOfAPercent);
}

}  // namespace

Size GrowthAllowance::of(Size base) const {
  if (billionths == 0) return bytes;
  // In two parts: the product of both would not fit 64 bits.
  return base / kBillion * billionths + base % kBillion * billionths / kBillion;
}

std::string GrowthAllowance::note() const {
  return is_zero() ? "" : fmt::format("allowed growth: {} (--allow-growth)", text);
}

GrowthAllowance parse_growth_allowance(std::string_view text) {
  GrowthAllowance allowance;
  if (text.ends_with('%')) {
    allowance.billionths = parse_percentage(text);
  } else {
    allowance.bytes = parse_size(text);
  }
  allowance.text = text;
  return allowance;
}

}  // namespace peakmark
