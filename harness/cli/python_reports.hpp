#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace peakmark::cli {

/// The note on Python in the help of commands that use it.
inline constexpr const char* kPythonNote =
    "Needs Python 3.10 or later with matplotlib, pandas and jinja2. Uses python3, or $PEAKMARK_PYTHON.";

/// Returns the name of a command, and its options and then positionals as given, for a command of the same
/// name in peakmark_reports. Omits empty values, and --history, which may contain a password.
std::vector<std::string> given_words(const CLI::App& command);

/// Replaces this process with the Python of `share/peakmark/reports`, which runs `words`: a command of
/// peakmark_reports and its options. Its output, exit code and signals are those of the command. If they are
/// not empty, Python reads `history` from $PEAKMARK_HISTORY and `input` from standard input. Throws
/// EnvironmentError if there is no Python or no such folder, IoError if Python cannot be started.
[[noreturn]] void become_python_reports(const std::vector<std::string>& words,
                                        const std::string& history = "", const std::string& input = "");

/// Runs it in a child process, whose output goes to standard error. Returns its exit code.
int run_python_reports(const std::vector<std::string>& words, const std::string& input);

/// Throws UsageError if no plot can be written to `file`: it must end with .png, .svg or .pdf.
void check_plot_file(const std::string& file);

}  // namespace peakmark::cli
