#include "base/file_kind.hpp"

#include <sys/stat.h>

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
