#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace peakmark {

/// The whole of a file of /proc/PID; nothing where it cannot be opened or read. A process may end between the
/// two: then the read fails with ESRCH, which is no fault of ours.
std::optional<std::string> read_proc_file(const std::filesystem::path& path);

}  // namespace peakmark
