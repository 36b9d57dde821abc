#pragma once

namespace peakmark {

/// The kind of an error report. Its letter is written to the file: never change one.
enum class RecorderErrorKind : char {
  incomplete = 'i',  ///< some events are missing
  stopped = 's',     ///< the profile can no longer be written; `detail` is the reason
  range_left_out =
      'r',  ///< an ignored NVTX range; `text` is its name, which is almost that of a phase: a typo
};

/// Reports, from inside a recorder, why it cannot record everything. `text` is one line that ends with what
/// to do.
///
/// Appends `LETTER<tab>detail<tab>text` to the file $PEAKMARK_ERROR_FILE, which `peakmark record` reads after
/// the program has ended. Prints the text to stderr if the variable is not set, or if the file is missing
/// (`record` was killed) or full. `detail` contains no tab. Allocates nothing and preserves errno.
void report_error(const char* text, RecorderErrorKind kind = RecorderErrorKind::incomplete,
                  const char* detail = "");

}  // namespace peakmark
