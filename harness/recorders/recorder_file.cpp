#include "recorders/recorder_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace peakmark {
namespace {

int write_zeros(int file, std::uint64_t offset, std::uint64_t bytes) {
  static constexpr std::array<char, 4096> kZeros{};
  for (std::uint64_t done = 0; done < bytes; done += kZeros.size()) {
    const std::size_t count = std::min<std::uint64_t>(kZeros.size(), bytes - done);
    if (const int error = write_whole(file, kZeros.data(), count, offset + done); error != 0) return error;
  }
  return 0;
}

}  // namespace

bool exceeds_file_limit(std::uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

int write_whole(int file, const char* bytes, std::size_t count, std::uint64_t offset) {
  if (exceeds_file_limit(offset + count)) return EFBIG;
  while (count > 0) {
    const ssize_t written = pwrite(file, bytes, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    bytes += written;
    count -= static_cast<std::size_t>(written);
    offset += static_cast<std::uint64_t>(written);
  }
  return 0;
}

int allocate_on_disk(int file, std::uint64_t offset, std::uint64_t bytes) {
  if (exceeds_file_limit(offset + bytes)) return EFBIG;
  while (fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return write_zeros(file, offset, bytes);
    if (errno != EINTR) return errno;
  }
  return 0;
}

int with_high_number(int file) {
  // The system's table of a process grows with its highest number: 8 KiB at 1024.
  constexpr rlim_t kHighest = 1024;
  constexpr rlim_t kBelow = 16;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return file;
  const rlim_t top = std::min(limit.rlim_cur, kHighest);
  if (top <= static_cast<rlim_t>(file) + kBelow) return file;
  const int high = fcntl(file, F_DUPFD_CLOEXEC, static_cast<int>(top - kBelow));
  if (high < 0) return file;
  close(file);
  return high;
}

}  // namespace peakmark
