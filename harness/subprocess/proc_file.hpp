#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace peakmark {

/// The whole of a file of /proc/PID; nothing where it cannot be opened or read. A process may end between the
/// two: then the read fails with ESRCH, which is no fault of ours.
std::optional<std::string> read_proc_file(const std::filesystem::path& path);

/// Of a process, whichever of its threads started or adopted them.
std::vector<pid_t> children_of(pid_t process);

/// Each process but this one whose environment can be read, with it: NAME=value, each ended by NUL.
void for_each_environment(const std::function<void(pid_t process, const std::string& environment)>& use);

}  // namespace peakmark
