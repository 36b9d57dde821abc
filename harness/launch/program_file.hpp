#pragma once

#include <filesystem>

namespace peakmark {

/// True for an ELF program without PT_INTERP: no dynamic loader runs in it, so that nothing can be loaded
/// into it. False for anything else, such as a script, and for what cannot be read.
bool is_static_program(const std::filesystem::path& file);

}  // namespace peakmark
