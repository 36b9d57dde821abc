#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace peakmark {

/// Why no program can be started by this name, as a shell would look for it in this environment, and what to
/// do: a text that goes on after the name and a colon. Empty where its file looks like a program: a binary,
/// or a script that begins with #!, which this process may execute.
std::string program_failure(const std::vector<std::string>& environment, const std::string& name);

/// Why the system does not start such a file all the same, by the error number that it gave, and what to do.
std::string why_not_executed(const std::filesystem::path& program, int error);

}  // namespace peakmark
