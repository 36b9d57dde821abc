#pragma once

#include <CLI/App.hpp>
#include <string>

namespace peakmark::cli {

/// What a command line that cannot be parsed is answered with, on standard error: `peakmark: …`, the word
/// that is wrong, the nearest that was possibly meant, and which help to read. `app` is the whole program.
std::string usage_message(const CLI::App* app, const CLI::Error& error);

/// `no option '--jsno'; did you mean '--json'?`
std::string no_such_option(const CLI::App& command, const std::string& option);

}  // namespace peakmark::cli
