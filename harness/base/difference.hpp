#pragma once

#include <string>
#include <utility>

#include "base/size.hpp"

// Texts of two values next to each other: different values never look equal.
namespace peakmark {

/// Returns format_size(bytes), followed by the difference to `other` if the two differ but have the same
/// text: `308.1 KiB +1 B`.
std::string format_size_beside(Size bytes, Size other);

/// Returns two times like format_duration(), but with as many digits, from four to nine, as show that they
/// differ: `1 ms` and `1.00004 ms`.
std::pair<std::string, std::string> format_durations(double one_ns, double other_ns);

/// Returns a relative change in percent with this number of decimals: `+5.2 %`. A change that would look like
/// 0 but is not is shown to its first non-zero digit: `+0.0003 %`.
std::string format_change(double relative, int decimals);

}  // namespace peakmark
