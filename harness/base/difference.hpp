#pragma once

#include <string>
#include <utility>

#include "base/size.hpp"

// Two values that a text shows next to each other: it never shows two different ones as equal.
namespace peakmark {

/// Returns format_size(bytes), with the difference to `other` if both read the same and are not, as in
/// `308.1 KiB +1 B`.
std::string format_size_beside(Size bytes, Size other);

/// Returns two times, each as format_duration() but with as many digits, four to nine, as show that they
/// differ: `1 ms` and `1.00004 ms`.
std::pair<std::string, std::string> format_durations(double one_ns, double other_ns);

/// Returns a relative change in percent with so many decimals, as in `+5.2 %`. One that would read as 0 and
/// is not has its first digit that is not 0: `+0.0003 %`.
std::string format_change(double relative, int decimals);

}  // namespace peakmark
