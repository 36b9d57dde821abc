#pragma once

namespace peakmark {

/// Inside a recorder: what keeps it from recording everything, one line that says what to do. It goes to the
/// file $PEAKMARK_TROUBLE, where `peakmark record` finds it when the program has ended; to stderr where that
/// is not set, is not there any more (`record` was killed), or has no room. Allocates nothing, keeps errno.
void tell_trouble(const char* text);

/// Between the profile that a recorder has to stop writing, and why.
inline constexpr char kStopsHere[] = " stops here: ";

/// Before the name of a range that is no phase of a suite's, and is called almost like one: a misspelt one.
inline constexpr char kRangeLeftOut[] = "range left out: ";

}  // namespace peakmark
