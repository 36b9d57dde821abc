#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace peakmark::cli {

/// Writes what an option has named (`--html`, `--junit`), whole or not at all: beside it, then renamed, so
/// that what was there before stays where there is no room. A pipe or a device (/dev/stdout) is written as
/// it is. IoError that says why not.
void write_output_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_output_file(const std::filesystem::path& path, const std::string& text);

/// Removes the files that an earlier command wrote to `outputs`, so that no old file is taken for the result
/// of a command that fails. Call it before anything is read or measured. What is one of `inputs` stays, and
/// so do folders, pipes, devices and empty files. IoError where a file can be neither removed nor emptied.
/// Run files are not deleted: set_run_file_aside().
void remove_earlier_outputs(const std::vector<std::filesystem::path>& outputs,
                            const std::vector<std::filesystem::path>& inputs = {});

}  // namespace peakmark::cli
