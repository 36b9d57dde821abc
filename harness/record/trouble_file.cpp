#include "record/trouble_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "record/recording_name.hpp"
#include "record/trouble.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// Room for what is to be told when the disk is full.
bool keeps_room(int descriptor) {
  constexpr off_t kRoom = 4096;
  return ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, kRoom) == 0 || (errno != ENOSPC && errno != EDQUOT);
}

/// A file of its own; `otherwise` where none can be made.
fs::path among_temporary_files(const fs::path& otherwise) {
  std::error_code error;
  std::string pattern = fs::temp_directory_path(error) / "peakmark-trouble-XXXXXX";
  const int descriptor = error ? -1 : ::mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor < 0) return otherwise;
  ::close(descriptor);
  fs::remove(otherwise, error);
  return pattern;
}

}  // namespace

TroubleFile::TroubleFile(const fs::path& name)
    : path_(fmt::format("{}.trouble.{}", name.string(), ::getpid())) {
  // One of an earlier process with this id; a link would lead to a file of somebody else's.
  ::unlink(path_.c_str());
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse_recording_name(name, errno);
  const bool has_room = keeps_room(descriptor);
  ::close(descriptor);
  if (!has_room) path_ = among_temporary_files(path_);
}

TroubleFile::~TroubleFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

std::vector<std::string> TroubleFile::lines() const {
  std::vector<std::string> lines;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string TroubleFile::first_line() const {
  for (const std::string& line : lines()) {
    if (!line.starts_with(kRangeLeftOut)) return line;
  }
  return "";
}

std::string TroubleFile::why_stopped() const {
  for (const std::string& line : lines()) {
    if (const std::size_t at = line.find(kStopsHere); at != std::string::npos) {
      return line.substr(at + std::strlen(kStopsHere));
    }
  }
  return "";
}

std::vector<std::string> TroubleFile::ranges_left_out() const {
  std::vector<std::string> names;
  for (const std::string& line : lines()) {
    if (!line.starts_with(kRangeLeftOut)) continue;
    std::string name = line.substr(std::strlen(kRangeLeftOut));
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace peakmark
