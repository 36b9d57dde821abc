#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace peakmark {

/// The folder in which this program stands.
std::filesystem::path folder_of_own_program();

/// Where `lib` and `share` may stand that belong to this program: an installed one stands in `bin` beside
/// them; in a build folder programs stand up to three folders deep. The nearest first.
std::vector<std::filesystem::path> prefixes_of_own_program();

/// The folder with the Python module `peakmark` that belongs to this program; nullopt where it is not
/// installed.
std::optional<std::filesystem::path> folder_of_python_module();

/// Puts that folder first in PYTHONPATH: marks and recorder are then of one release.
void add_python_module(std::vector<std::string>& environment);

}  // namespace peakmark
