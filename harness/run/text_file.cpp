#include "run/text_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace peakmark {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing, int error) {
  throw UsageError(path.string() + ": cannot " + doing + ": " + std::strerror(error));
}

/// 0, or the errno that stopped it.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string read_all(int descriptor, const std::filesystem::path& path) {
  std::string text;
  char piece[65536];
  for (;;) {
    const ssize_t got = ::read(descriptor, piece, sizeof piece);
    if (got == 0) return text;
    if (got > 0) {
      text.append(piece, static_cast<std::size_t>(got));
    } else if (errno != EINTR) {
      fail(path, "read", errno);
    }
  }
}

}  // namespace

std::string read_text_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "open", errno);
  try {
    std::string text = read_all(descriptor, path);
    ::close(descriptor);
    return text;
  } catch (...) {
    ::close(descriptor);
    throw;
  }
}

void replace_text_file(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path beside = path.string() + ".new-" + std::to_string(::getpid());
  const int descriptor = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) fail(path, "write", errno);
  int error = write_all(descriptor, text);
  // Some file systems tell of a full disk only here.
  if (error == 0 && ::fsync(descriptor) != 0 && errno != EINVAL) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(beside.c_str());
    fail(path, "write", error);
  }
}

LineFile::LineFile(const std::filesystem::path& path, std::string_view in_use) : path_(path) {
  for (;;) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(path, "write", errno);
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
      const int error = errno;
      ::close(descriptor_);
      if (error == EWOULDBLOCK) throw UsageError(path.string() + ": " + std::string(in_use));
      fail(path, "lock", error);
    }
    // Whoever held the lock before may have removed the file between our open and our lock.
    struct stat held {
    }, named{};
    if (::fstat(descriptor_, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
      return;
    }
    ::close(descriptor_);
  }
}

LineFile::~LineFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string LineFile::take_whole_lines() {
  ::lseek(descriptor_, 0, SEEK_SET);
  std::string text = read_all(descriptor_, path_);
  const auto end = text.rfind('\n');
  const std::size_t whole = end == std::string::npos ? 0 : end + 1;
  if (whole != text.size()) {
    text.resize(whole);
    if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) fail(path_, "write", errno);
  }
  return text;
}

void LineFile::append(std::string_view line) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  std::string text(line);
  text += '\n';
  if (const int error = write_all(descriptor_, text); error != 0) {
    // A shorter file needs no room, so this succeeds on a full disk too.
    if (before >= 0 && ::ftruncate(descriptor_, before) != 0)
      fail(path_, "write, nor take back half a line", errno);
    fail(path_, "write", error);
  }
}

void LineFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0) fail(path_, "write", errno);
}

bool LineFile::is_empty() const {
  struct stat status {};
  return ::fstat(descriptor_, &status) == 0 && status.st_size == 0;
}

void LineFile::remove() {
  ::unlink(path_.c_str());
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace peakmark
