#include "base/file_kind.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <random>
#include <string>

#include "base/error.hpp"

namespace peakmark {

namespace fs = std::filesystem;

std::string_view kind_of_other_than_file(const fs::path& path) {
  std::error_code error;
  switch (fs::status(path, error).type()) {
    case fs::file_type::directory:
      return "a folder";
    case fs::file_type::fifo:
      return "a pipe";
    case fs::file_type::block:
    case fs::file_type::character:
      return "a device";
    case fs::file_type::socket:
      return "a socket";
    default:
      return "";
  }
}

NewFile create_file_beside(const std::filesystem::path& path) {
  std::random_device random;
  NewFile file;
  for (int attempt = 0; attempt < 100; ++attempt) {
    file.path = fmt::format("{}.new-{:08x}{:08x}", path.string(), random(), random());
    file.descriptor = ::open(file.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    file.error = file.descriptor < 0 ? errno : 0;
    if (file.error != EEXIST) break;
  }
  return file;
}

bool is_still_at(const fs::path& path, int descriptor) {
  struct stat held {
  }, named{};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

void check_replaceable(const fs::path& path) {
  const std::string_view kind = kind_of_other_than_file(path);
  if (kind == "a folder" || !path.has_filename()) {
    throw UsageError(path.string() + ": is a folder; name a file in it");
  }
  if (!kind.empty()) {
    throw UsageError(path.string() + ": is " + std::string(kind) +
                     ", not a file that can be replaced; name a file");
  }
}

}  // namespace peakmark
