#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark::cli {

/// Writes to standard output at once, so that it comes before later messages on standard error. A failure (a
/// full disk, a closed pipe) does not end the command, which may have more files to write: main() calls
/// check_output() at the end.
void print_text(std::string_view text);

/// Throws IoError if a part of standard output could not be written. The reason is unknown for text that went
/// through std::cout.
void check_output();

/// Writes the file of an option such as --junit, whole or not at all: writes a new file next to it and
/// renames it, so that a full disk leaves the earlier file intact. Writes a pipe or device (/dev/stdout)
/// directly. Throws IoError with the reason.
void write_output_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_output_file(const std::filesystem::path& path, const std::string& text);

/// Removes the files that an earlier command wrote to `outputs`, so that nobody takes an old file for the
/// result of a command that fails. Call it before anything is read or measured. Keeps files of `inputs`,
/// folders, pipes, devices and empty files. Throws IoError if a file can be neither removed nor emptied. Do
/// not pass run files: see set_run_file_aside().
void remove_earlier_outputs(const std::vector<std::filesystem::path>& outputs,
                            const std::vector<std::filesystem::path>& inputs = {});

enum class FileContents : std::uint8_t {
  profile,  ///< also if the file is missing: profiles of further processes may be next to it
  run,      ///< JSON, or a partial run file; its reader checks whether it is a run
};

/// Returns what a file contains, by its first bytes. Throws UsageError for other contents, and for a pipe,
/// which would block.
FileContents contents(const std::filesystem::path& path);

/// Returns true for a profile, and for a name under which only profiles of further processes exist. Throws as
/// contents() does.
bool is_profile(const std::filesystem::path& path);

}  // namespace peakmark::cli
