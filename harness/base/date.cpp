#include "base/date.hpp"

#include <array>
#include <ctime>
#include <string>

namespace peakmark {
namespace {

struct DateForm {
  const char* format;
  bool has_offset;
};

// The last form is that of Google Benchmark before 1.5.
constexpr std::array kDateForms{DateForm{"%Y-%m-%dT%H:%M:%S%z", true}, DateForm{"%Y-%m-%d %H:%M:%S%z", true},
                                DateForm{"%Y-%m-%dT%H:%M:%S", false},  DateForm{"%Y-%m-%d %H:%M:%S", false},
                                DateForm{"%Y-%m-%d", false},           DateForm{"%Y/%m/%d-%H:%M:%S", false}};

/// strptime accepts short years, blanks and signs; if the year has four digits, the other numbers have two,
/// or do not match.
bool has_four_digit_year(const std::string& text) {
  return text.size() >= 10 && text.find_first_not_of("0123456789") == 4;
}

}  // namespace

std::optional<ParsedDate> parse_date(std::string_view text) {
  const std::string whole(text);
  if (!has_four_digit_year(whole)) return std::nullopt;
  for (const DateForm& form : kDateForms) {
    std::tm read{};
    const char* const end = ::strptime(whole.c_str(), form.format, &read);
    if (end == nullptr || end != whole.c_str() + whole.size()) continue;
    const int day = read.tm_mday;
    const auto offset = std::chrono::seconds(form.has_offset ? read.tm_gmtoff : 0);
    const std::time_t seconds = ::timegm(&read);  // 31 February becomes a day of March
    constexpr int kLastYear = 2261;
    if (read.tm_mday != day || seconds < 0 || read.tm_year + 1900 > kLastYear) return std::nullopt;
    return ParsedDate{std::chrono::system_clock::from_time_t(seconds) - offset, form.has_offset};
  }
  return std::nullopt;
}

}  // namespace peakmark
