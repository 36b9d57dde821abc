#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace peakmark::cli {

/// Returns the file of this program. Throws UsageError if /proc/self/exe cannot be read.
std::filesystem::path own_program();

/// Replaces this process with the Python of `share/peakmark/reports`, which runs `words`: a command of
/// peakmark_reports and its options. Its output, exit code and signals are those of the command. Python reads
/// `history` from $PEAKMARK_HISTORY if it is not empty. Throws UsageError if there is no Python or no such
/// folder.
[[noreturn]] void become_python_reports(const std::vector<std::string>& words,
                                        const std::string& history = "");

}  // namespace peakmark::cli
