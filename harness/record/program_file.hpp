#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace peakmark {

/// The file that a program name stands for: itself where it has a slash, else looked up in $PATH. Empty where
/// there is none that can be executed.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// True for an ELF program without PT_INTERP: no dynamic loader runs in it, so that nothing can be loaded
/// into it. False for anything else, such as a script, and for what cannot be read.
bool is_static_program(const std::filesystem::path& file);

}  // namespace peakmark
