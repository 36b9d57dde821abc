#include "record/recorders/report_error.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace peakmark {
namespace {

/// Returns false if there is no such file, or no space in it.
bool append(const char* text, RecorderErrorKind kind, const char* detail) {
  const char* const path = std::getenv("PEAKMARK_ERROR_FILE");
  if (path == nullptr || *path == '\0') return false;
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file < 0) return false;
  const std::size_t bytes = std::strlen(detail) + std::strlen(text) + 4;
  const bool is_whole =
      dprintf(file, "%c\t%s\t%s\n", static_cast<char>(kind), detail, text) == static_cast<int>(bytes);
  close(file);
  return is_whole;
}

}  // namespace

void report_error(const char* text, RecorderErrorKind kind, const char* detail) {
  const int saved = errno;
  const char* const about = kind == RecorderErrorKind::range_left_out ? "range left out: " : "";
  if (!append(text, kind, detail)) dprintf(STDERR_FILENO, "peakmark: %s%s\n", about, text);
  errno = saved;
}

}  // namespace peakmark
