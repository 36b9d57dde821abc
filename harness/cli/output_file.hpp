#pragma once

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace peakmark::cli {

/// Writes what an option has named (`--html`, `--junit`), whole or not at all: beside it, then renamed, so
/// that what was there before stays where there is no room. A pipe or a device (/dev/stdout) is written as
/// it is. UsageError that says why not.
void write_output_file(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void write_output_file(const std::filesystem::path& path, const std::string& text);

}  // namespace peakmark::cli
