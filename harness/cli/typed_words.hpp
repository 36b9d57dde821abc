#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace peakmark::cli {

/// What a user types to call this program once more, as words for a shell: `peakmark` where PATH finds it,
/// else what it was called by.
std::string own_command();

/// CMake's find_package() looks there without being told: a folder of PATH, or what its `bin` stands in.
bool cmake_finds(const std::filesystem::path& prefix);

}  // namespace peakmark::cli
