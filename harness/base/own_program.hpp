#pragma once

#include <filesystem>
#include <vector>

namespace peakmark {

/// The folder in which this program stands.
std::filesystem::path folder_of_own_program();

/// Where `lib` and `share` may stand that belong to this program: an installed one stands in `bin` beside
/// them; in a build folder programs stand up to three folders deep. The nearest first.
std::vector<std::filesystem::path> prefixes_of_own_program();

}  // namespace peakmark
