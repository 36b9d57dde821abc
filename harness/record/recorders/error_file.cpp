#include "record/recorders/error_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// Reserves space for the error that is reported if the disk is full.
bool reserve_space(int descriptor) {
  constexpr off_t kReservedBytes = 4096;
  return ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, kReservedBytes) == 0 ||
         (errno != ENOSPC && errno != EDQUOT);
}

/// Creates a temporary file. Returns `otherwise` if that fails.
fs::path temporary_error_file(const fs::path& otherwise) {
  std::error_code error;
  std::string pattern = fs::temp_directory_path(error) / "peakmark-error-XXXXXX";
  const int descriptor = error ? -1 : ::mkostemp(pattern.data(), O_CLOEXEC);
  if (descriptor < 0) return otherwise;
  ::close(descriptor);
  fs::remove(otherwise, error);
  return pattern;
}

}  // namespace

ErrorFile::ErrorFile(const fs::path& name) : path_(fmt::format("{}.error.{}", name.string(), ::getpid())) {
  // The path may be a file of an earlier process with this id, or a link to another user's file.
  ::unlink(path_.c_str());
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse_recording_name(name, errno);
  const bool is_reserved = reserve_space(descriptor);
  ::close(descriptor);
  if (!is_reserved) path_ = temporary_error_file(path_);
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
      // written by an older recorder, or by a loader
      lines.push_back({RecorderErrorKind::incomplete, "", line});
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
