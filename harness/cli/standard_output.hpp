#pragma once

#include <string_view>

namespace peakmark::cli {

/// Writes it to standard output at once, before what is said on standard error next. What cannot be written
/// (a full disk, a pipe that nobody reads) ends no command, which may have files to write still: main() asks
/// check_output() at its end.
void print_text(std::string_view text);

/// Throws IoError where a part of standard output was not written: that must not look like success. Of what
/// went through std::cout it is not known why.
void check_output();

}  // namespace peakmark::cli
