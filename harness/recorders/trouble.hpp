#pragma once

namespace peakmark {

/// What a recorder tells. The letter is in the file: never change one.
enum class RecorderErrorKind : char {
  incomplete = 'i',      ///< not everything is recorded
  stopped = 's',         ///< the profile cannot be written any more; `detail` says why
  range_left_out = 'r',  ///< a range whose name, the text, is almost that of a phase: a misspelt one
};

/// Inside a recorder: tells what keeps it from recording everything, in one line that says what to do. It
/// goes to the file $PEAKMARK_ERROR_FILE as `LETTER<tab>detail<tab>text`, where `peakmark record` finds it
/// when the program has ended; the text goes to stderr where that is not set, is not there any more (`record`
/// was killed), or has no room. `detail` holds no tab. Allocates nothing, keeps errno.
void report_error(const char* text, RecorderErrorKind kind = RecorderErrorKind::incomplete,
                  const char* detail = "");

}  // namespace peakmark
