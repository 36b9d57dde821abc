#include "base/text_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/files.hpp"

namespace peakmark {
namespace {

constexpr off_t kProbeBytes = 4096;
constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing, int error) {
  throw io_error(path, std::string("cannot ") + doing, error);
}

/// Returns 0, or the errno of the failure.
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

/// Buffers pieces and writes them to a descriptor. Stops after the first error.
class PieceWriter {
 public:
  explicit PieceWriter(int descriptor) : descriptor_(descriptor) {}

  void add(std::string_view piece) {
    if (error_ != 0) return;
    held_ += piece;
    if (held_.size() >= kPieceBytes) flush();
  }
  /// Returns 0, or the errno of the failure.
  [[nodiscard]] int finish() {
    if (error_ == 0) flush();
    return error_;
  }

 private:
  void flush() {
    error_ = write_all(descriptor_, held_);
    held_.clear();
  }

  int descriptor_;
  std::string held_;
  int error_ = 0;
};

/// Returns 0, or the errno of the failure.
int write_text(int descriptor, const TextWriter& write) {
  PieceWriter pieces(descriptor);
  write([&pieces](std::string_view piece) { pieces.add(piece); });
  return pieces.finish();
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
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(path, "open", errno);
  return read_all(file.get(), path);
}

FileBuffer::FileBuffer(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)),
      piece_(kPieceBytes, '\0') {
  if (descriptor_.get() < 0) fail(path_, "open", errno);
}

FileBuffer::int_type FileBuffer::underflow() {
  if (gptr() != egptr()) return traits_type::to_int_type(*gptr());
  const std::string_view read = piece();
  line_ += static_cast<std::size_t>(std::ranges::count(read, '\n'));
  if (const auto end = read.rfind('\n'); end != std::string_view::npos) line_start_ = before_ + end + 1;
  before_ += std::exchange(held_, 0);
  ssize_t got = 0;
  do {
    got = ::read(descriptor_.get(), piece_.data(), piece_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) fail(path_, "read", errno);
  held_ = static_cast<std::size_t>(got);
  setg(piece_.data(), piece_.data(), piece_.data() + held_);
  is_blank_ = is_blank_ && piece().find_first_not_of(" \t\r\n") == std::string_view::npos;
  return held_ == 0 ? traits_type::eof() : traits_type::to_int_type(*gptr());
}

std::string FileBuffer::place_of(std::size_t byte) const {
  const std::string_view read = piece().substr(0, std::clamp(byte, before_, bytes()) - before_);
  const std::size_t line = line_ + static_cast<std::size_t>(std::ranges::count(read, '\n'));
  const auto end = read.rfind('\n');
  const std::size_t start = end == std::string_view::npos ? line_start_ : before_ + end + 1;
  return "line " + std::to_string(line) + ", column " + std::to_string(before_ + read.size() - start);
}

void replace_text_file(const std::filesystem::path& path, std::string_view text) {
  replace_text_file(path, [text](const TextSink& sink) { sink(text); });
}

void replace_text_file(const std::filesystem::path& path, const TextWriter& write) {
  check_replaceable(path);
  NewFile file = create_file_beside(path);
  if (file.error != 0) fail(path, "write", file.error);
  int error = 0;
  try {
    error = write_text(file.descriptor.get(), write);
  } catch (...) {
    ::unlink(file.path.c_str());
    throw;
  }
  // Some file systems report a full disk only here.
  if (error == 0 && ::fsync(file.descriptor.get()) != 0 && errno != EINVAL) error = errno;
  // The file stays locked until it is renamed; otherwise another process would remove it as abandoned.
  const Descriptor lock(::fcntl(file.descriptor.get(), F_DUPFD_CLOEXEC, 0));
  if (::close(file.descriptor.release()) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(file.path.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    ::unlink(file.path.c_str());
    fail(path, "write", error);
  }
}

void LineFile::fail(const char* doing, int error) const {
  throw io_error(owner_, std::string("cannot ") + doing + " " + path_.filename().string() + " next to it",
                 error);
}

LineFile::LineFile(const std::filesystem::path& path, std::filesystem::path owner, std::string_view in_use)
    : path_(path), owner_(std::move(owner)) {
  for (;;) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (file.get() < 0) fail("write", errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) throw UsageError(owner_.string() + ": " + std::string(in_use));
      fail("lock", errno);
    }
    // The previous lock holder may have removed the file between our open() and our lock.
    if (!is_still_at(path, file.get())) continue;
    descriptor_ = std::move(file);
    break;
  }
  probe();
}

void LineFile::probe() {
  const bool was_empty = is_empty();
  const int error = try_append([](const TextSink& sink) { sink(std::string(kProbeBytes, ' ')); });
  if (error == 0) {
    if (::ftruncate(descriptor_.get(), ::lseek(descriptor_.get(), 0, SEEK_END) - kProbeBytes) != 0)
      fail("write", errno);
    return;
  }
  if (was_empty) ::unlink(path_.c_str());
  fail("write", error);
}

void LineFile::cut_half_line() {
  std::string piece(kPieceBytes, '\0');
  const off_t size = ::lseek(descriptor_.get(), 0, SEEK_END);
  off_t whole = size;
  while (whole > 0) {
    const off_t start = std::max<off_t>(whole - static_cast<off_t>(kPieceBytes), 0);
    const ssize_t got =
        ::pread(descriptor_.get(), piece.data(), static_cast<std::size_t>(whole - start), start);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read", got < 0 ? errno : EIO);
    const auto end = std::string_view(piece).substr(0, static_cast<std::size_t>(got)).rfind('\n');
    whole = end == std::string_view::npos ? start : start + static_cast<off_t>(end) + 1;
    if (end != std::string_view::npos) break;
  }
  if (whole != size && ::ftruncate(descriptor_.get(), whole) != 0) fail("write", errno);
}

std::string LineFile::take_whole_lines() {
  cut_half_line();
  ::lseek(descriptor_.get(), 0, SEEK_SET);
  return read_all(descriptor_.get(), path_);
}

int LineFile::try_append(const TextWriter& write) {
  const off_t before = ::lseek(descriptor_.get(), 0, SEEK_END);
  int error = 0;
  try {
    error = write_text(descriptor_.get(), write);
  } catch (...) {
    // Removes the written part. If that fails, too, readers ignore a line without a newline.
    if (before >= 0) (void)!::ftruncate(descriptor_.get(), before);
    throw;
  }
  // Truncating needs no space, so it also succeeds on a full disk.
  if (error != 0 && before >= 0 && ::ftruncate(descriptor_.get(), before) != 0) fail("truncate", errno);
  return error;
}

void LineFile::append(std::string_view line) {
  append([line](const TextSink& sink) { sink(line); });
}

void LineFile::append(const TextWriter& write) {
  const int error = try_append([&write](const TextSink& sink) {
    write(sink);
    sink("\n");
  });
  if (error != 0) fail("write", error);
}

void LineFile::clear() {
  if (::ftruncate(descriptor_.get(), 0) != 0) fail("write", errno);
}

bool LineFile::is_empty() const {
  struct stat status {};
  return ::fstat(descriptor_.get(), &status) == 0 && status.st_size == 0;
}

void LineFile::remove() {
  ::unlink(path_.c_str());
  descriptor_.close();
}

}  // namespace peakmark
