#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace peakmark::cli {

/// Writes it to standard output at once, before what is said on standard error next. What cannot be written
/// (a full disk, a pipe that nobody reads) ends no command, which may have files to write still: main() asks
/// `lost_output` at its end.
void print_text(std::string_view text);

/// What was lost of standard output, why, and what to do; nothing when all of it was written. It must not
/// look like success. Of what went through std::cout it is not known why.
std::optional<std::string> lost_output();

}  // namespace peakmark::cli
