#include "record/trouble.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace peakmark {

bool note_trouble(const char* text) {
  const int saved = errno;
  const char* const path = std::getenv("PEAKMARK_TROUBLE");
  const int file =
      path == nullptr || *path == '\0' ? -1 : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file >= 0) {
    dprintf(file, "%s\n", text);
    close(file);
  }
  errno = saved;
  return file >= 0;
}

void tell_trouble(const char* text) {
  const int saved = errno;
  if (!note_trouble(text)) dprintf(STDERR_FILENO, "peakmark: %s\n", text);
  errno = saved;
}

}  // namespace peakmark
