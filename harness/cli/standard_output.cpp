#include "cli/standard_output.hpp"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <optional>
#include <string>

#include "base/error.hpp"

namespace peakmark::cli {
namespace {

/// Of the first write that failed: errno, 0 where it is not known. The last flush does not tell: what was
/// lost may be a buffer that was written before.
std::optional<int> first_error;

void note_error() {
  if (!first_error) first_error = errno;
}

const char* mend(int error) {
  switch (error) {
    case EPIPE:
      return "what reads it has ended before all was written";
    case EBADF:
      return "it is closed, or open for reading only";
    default:
      return "make room, or send it elsewhere";
  }
}

}  // namespace

void print_text(std::string_view text) {
  errno = 0;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!is_written || std::fflush(stdout) != 0) note_error();
}

void check_output() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) note_error();
  if (!first_error) return;
  constexpr const char* kWhat = "standard output could not be written";
  if (*first_error == 0) throw IoError(std::string(kWhat) + "; " + mend(0));
  throw io_error("", kWhat, *first_error, mend(*first_error));
}

}  // namespace peakmark::cli
