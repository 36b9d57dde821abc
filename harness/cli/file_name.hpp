#pragma once

#include <CLI/App.hpp>
#include <string>

namespace peakmark::cli {

/// Of an option that names a file to write: `-o "$UNSET"` is a mistake that says so.
inline const CLI::Validator kFileName(
    [](const std::string& text) -> std::string { return text.empty() ? "the file name is empty" : ""; }, "",
    "");

}  // namespace peakmark::cli
