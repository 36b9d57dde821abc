#include "recorders/error_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "profile/recording_name.hpp"

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

ErrorFile::ErrorFile(const fs::path& name) : path_(fmt::format("{}.trouble.{}", name.string(), ::getpid())) {
  // One of an earlier process with this id; a link would lead to a file of somebody else's.
  ::unlink(path_.c_str());
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse_recording_name(name, errno);
  const bool has_room = keeps_room(descriptor);
  ::close(descriptor);
  if (!has_room) path_ = among_temporary_files(path_);
}

ErrorFile::~ErrorFile() {
  std::error_code ignored;
  fs::remove(path_, ignored);
}

std::vector<ErrorFile::Line> ErrorFile::lines() const {
  std::vector<Line> lines;
  std::ifstream file(path_);
  for (std::string line; std::getline(file, line);) {
    constexpr std::size_t kDetail = 2;
    const std::size_t end = line.find('\t', kDetail);
    if (end == std::string::npos || line[1] != '\t') {
      lines.push_back({RecorderErrorKind::incomplete, "", line});  // of an older recorder, or of a loader
    } else {
      lines.push_back(
          {RecorderErrorKind{line[0]}, line.substr(kDetail, end - kDetail), line.substr(end + 1)});
    }
  }
  return lines;
}

std::string ErrorFile::first_line() const {
  for (const Line& line : lines()) {
    if (line.kind != RecorderErrorKind::range_left_out) return line.text;
  }
  return "";
}

std::string ErrorFile::why_stopped() const {
  for (const Line& line : lines()) {
    if (line.kind == RecorderErrorKind::stopped) return line.detail;
  }
  return "";
}

std::vector<std::string> ErrorFile::ranges_left_out() const {
  std::vector<std::string> names;
  for (Line& line : lines()) {
    if (line.kind != RecorderErrorKind::range_left_out) continue;
    if (std::ranges::find(names, line.text) == names.end()) names.push_back(std::move(line.text));
  }
  return names;
}

}  // namespace peakmark
