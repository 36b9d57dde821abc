#include "run/text_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "base/file_kind.hpp"
#include "run/descriptor.hpp"

namespace peakmark {
namespace {

constexpr off_t kProbeBytes = 4096;

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing, int error) {
  throw io_error(path, std::string("cannot ") + doing, error);
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
  check_replaceable(path);
  const auto [beside, descriptor, refused] = create_file_beside(path);
  if (refused != 0) fail(path, "write", refused);
  int error = write_all(descriptor, text);
  // Some file systems tell of a full disk only here.
  if (error == 0 && ::fsync(descriptor) != 0 && errno != EINVAL) error = errno;
  // The file stays locked until it has its name: another process would take it for one that was left.
  const Descriptor lock(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(beside.c_str());
    fail(path, "write", error);
  }
}

void LineFile::fail(const char* doing, int error) const {
  throw io_error(owner_, std::string("cannot ") + doing + " " + path_.filename().string() + " beside it",
                 error);
}

LineFile::LineFile(const std::filesystem::path& path, std::filesystem::path owner, std::string_view in_use)
    : path_(path), owner_(std::move(owner)) {
  for (;;) {
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.get() < 0) fail("write", errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) throw UsageError(owner_.string() + ": " + std::string(in_use));
      fail("lock", errno);
    }
    // Whoever held the lock before may have removed the file between our open and our lock.
    if (!is_still_at(path, file.get())) continue;
    descriptor_ = ::fcntl(file.get(), F_DUPFD_CLOEXEC, 0);  // of the same lock
    if (descriptor_ < 0) fail("lock", errno);
    break;
  }
  probe();
}

void LineFile::probe() {
  const bool was_empty = is_empty();
  const int error = try_append(std::string(kProbeBytes, ' '));
  if (error == 0) {
    if (::ftruncate(descriptor_, ::lseek(descriptor_, 0, SEEK_END) - kProbeBytes) != 0) fail("write", errno);
    return;
  }
  if (was_empty) ::unlink(path_.c_str());
  ::close(descriptor_);
  fail("write", error);
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
    if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) fail("write", errno);
  }
  return text;
}

int LineFile::try_append(std::string_view text) {
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  const int error = write_all(descriptor_, text);
  // A shorter file needs no room, so this succeeds on a full disk too.
  if (error != 0 && before >= 0 && ::ftruncate(descriptor_, before) != 0)
    fail("take back half a line of", errno);
  return error;
}

void LineFile::append(std::string_view line) {
  std::string text(line);
  text += '\n';
  if (const int error = try_append(text); error != 0) fail("write", error);
}

void LineFile::clear() {
  if (::ftruncate(descriptor_, 0) != 0) fail("write", errno);
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
