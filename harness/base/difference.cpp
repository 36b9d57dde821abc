#include "base/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"

namespace peakmark {
namespace {

/// Returns format_duration() with at most `digits` digits.
std::string format_duration_with(double nanoseconds, int digits) {
  const std::string text = format_duration(nanoseconds);
  const std::string unit = text.substr(text.find(' '));
  const double scale = unit == " s" ? 1e9 : unit == " ms" ? 1e6 : unit == " us" ? 1e3 : 1;
  return fmt::format("{:.{}g}{}", nanoseconds / scale, digits, unit);
}

}  // namespace

std::string format_size_beside(Size bytes, Size other) {
  std::string text = format_size(bytes);
  if (bytes == other || text != format_size(other)) return text;
  return fmt::format("{} {:+} B", text, checked_subtract(bytes, other));
}

std::pair<std::string, std::string> format_durations(double one_ns, double other_ns) {
  constexpr int kMaxDigits = 9;
  std::pair<std::string, std::string> texts{format_duration(one_ns), format_duration(other_ns)};
  if (one_ns == other_ns) return texts;
  for (int digits = 5; texts.first == texts.second && digits <= kMaxDigits; ++digits)
    texts = {format_duration_with(one_ns, digits), format_duration_with(other_ns, digits)};
  return texts;
}

std::string format_change(double relative, int decimals) {
  constexpr int kMaxDecimals = 15;
  const double percent = relative * 100;
  const bool reads_as_zero = std::abs(percent) < std::pow(10.0, -decimals) / 2;
  if (percent == 0 || !reads_as_zero) return fmt::format("{:+.{}f} %", percent, decimals);
  const int first = static_cast<int>(std::ceil(-std::log10(std::abs(percent))));
  return fmt::format("{:+.{}f} %", percent, std::min(first, kMaxDecimals));
}

}  // namespace peakmark
