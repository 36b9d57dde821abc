#include "record/proc_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace peakmark {

std::optional<std::string> read_proc_file(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  ssize_t got = 0;
  do {
    char piece[16384];
    got = read(descriptor, piece, sizeof(piece));
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  close(descriptor);
  if (got < 0) return std::nullopt;
  return text;
}

}  // namespace peakmark
