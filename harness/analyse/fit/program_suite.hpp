#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/files.hpp"
#include "base/size.hpp"

namespace peakmark {

/// Writes a suite whose only program is this command, without a shell. `axes`: names and defaults; a default
/// is an integer if it can be read as one. Returns the name of its variant, `program/train.py`. Throws
/// IoError.
std::string write_program_suite(const std::vector<std::string>& command,
                                const std::vector<std::pair<std::string, std::string>>& axes,
                                const std::filesystem::path& suite);

}  // namespace peakmark
