#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace peakmark {

// An environment as a list of NAME=value, for a process that is to be started.

/// That of this process.
std::vector<std::string> current_environment();

/// Sets in this process what differs in `environment`; what is not in it stays. No other thread may be
/// reading variables meanwhile.
void set_own_environment(const std::vector<std::string>& environment);

/// Sets NAME=value, in the place of what it had.
void set_variable(std::vector<std::string>& environment, std::string_view name, const std::string& value);

/// nullopt where it is not set.
std::optional<std::string> variable_of(const std::vector<std::string>& environment, std::string_view name);

/// A list of folders such as PYTHONPATH without its empty entries, which mean the working folder.
std::string without_empty_folders(std::string_view folders);

/// A file that this process may execute.
bool can_be_executed(const std::filesystem::path& path);

/// The file of a program: itself where it has a slash, else the first in the folders of this environment's
/// PATH. nullopt where there is none that can be executed.
std::optional<std::filesystem::path> program_in(const std::vector<std::string>& environment,
                                                const std::string& name);

}  // namespace peakmark
