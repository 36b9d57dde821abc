#pragma once

namespace peakmark {

/// Inside a recorder: what keeps it from recording everything, one line that says what to do. It goes to the
/// file $PEAKMARK_TROUBLE, where `peakmark record` finds it when the program has ended; to stderr where that
/// is not set. Allocates nothing, keeps errno.
void tell_trouble(const char* text);

/// As tell_trouble, for what stderr has been told already. False where there is no such file.
bool note_trouble(const char* text);

}  // namespace peakmark
