#include "base/size.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "base/error.hpp"

namespace peakmark {
namespace {

[[noreturn]] void overflow(Size a, char operation, Size b) {
  throw OverflowError(fmt::format("{} {} {} does not fit 64 bits", a, operation, b));
}

struct Unit {
  std::string_view name;
  Size bytes;
};

constexpr Size kKi = 1024;
constexpr std::array<Unit, 12> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"kB", 1000},
                                       {"KB", 1000},
                                       {"MB", 1000'000},
                                       {"GB", 1000'000'000},
                                       {"TB", 1000'000'000'000},
                                       {"KiB", kKi},
                                       {"MiB", kKi* kKi},
                                       {"GiB", kKi* kKi* kKi},
                                       {"TiB", kKi* kKi* kKi* kKi},
                                       {"PiB", kKi* kKi* kKi* kKi* kKi}}};

}  // namespace

Size checked_add(Size a, Size b) {
  Size sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) overflow(a, '+', b);
  return sum;
}

Size checked_subtract(Size a, Size b) {
  Size difference = 0;
  if (__builtin_sub_overflow(a, b, &difference)) overflow(a, '-', b);
  return difference;
}

Size checked_multiply(Size a, Size b) {
  Size product = 0;
  if (__builtin_mul_overflow(a, b, &product)) overflow(a, '*', b);
  return product;
}

Size parse_size(std::string_view text) {
  const auto bad = [&](const char* why) {
    return UsageError(fmt::format(
        "'{}' is not a size: {}; write bytes, or a number with a unit such as 24 MB or 16GiB", text, why));
  };
  const char* const end = text.data() + text.size();
  Size whole = 0;
  const auto [after_whole, error] = std::from_chars(text.data(), end, whole);
  if (error == std::errc::result_out_of_range)
    throw OverflowError(fmt::format("'{}' does not fit 64 bits", text));
  if (error != std::errc() || whole < 0 || text.front() == '-') throw bad("it does not start with a number");

  // The fraction is digits over a power of ten, so that 0.1 GB is exactly 100,000,000 bytes.
  Size fraction = 0;
  Size scale = 1;
  const char* rest = after_whole;
  if (rest != end && *rest == '.') {
    for (++rest; rest != end && *rest >= '0' && *rest <= '9'; ++rest) {
      fraction = checked_add(checked_multiply(fraction, 10), *rest - '0');
      scale = checked_multiply(scale, 10);
    }
    if (scale == 1) throw bad("no digit follows the point");
  }
  while (rest != end && *rest == ' ') ++rest;
  const std::string_view unit_name(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : kUnits) {
    if (unit.name != unit_name) continue;
    const Size part = checked_multiply(fraction, unit.bytes);
    if (part % scale != 0) throw bad("it is not a whole number of bytes");
    return checked_add(checked_multiply(whole, unit.bytes), part / scale);
  }
  throw bad("unknown unit");
}

std::string format_size(Size bytes) {
  constexpr std::array<const char*, 7> names{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  if (unit == 0) return fmt::format("{} B", bytes);
  // Four digits, and never 1024 of a unit: 1023.96 KiB is 1 MiB.
  std::string digits = fmt::format("{:.4g}", value);
  if ((digits == "1024" || digits == "-1024") && unit + 1 < names.size()) {
    digits = digits[0] == '-' ? "-1" : "1";
    ++unit;
  }
  return fmt::format("{} {}", digits, names[unit]);
}

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
  // In two parts, because the product may not fit 64 bits.
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
