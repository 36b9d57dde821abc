// Creates, extends and closes the file of a ProfileWriter.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "record/profile/profile.hpp"
#include "record/recorders/call_stack.hpp"
#include "record/recorders/marks.h"
#include "record/recorders/open_ranges.hpp"
#include "record/recorders/profile_writer.hpp"
#include "record/recorders/report_error.hpp"

namespace peakmark {
namespace {

/// Returns true if a file of that size exceeds RLIMIT_FSIZE. A write there would not only fail: SIGXFSZ would
/// kill the program.
bool exceeds_file_limit(std::uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur;
}

/// Returns the errno, or 0.
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

int write_zeros(int file, std::uint64_t offset, std::uint64_t bytes) {
  static constexpr std::array<char, 4096> kZeros{};
  for (std::uint64_t done = 0; done < bytes; done += kZeros.size()) {
    const std::size_t count = std::min<std::uint64_t>(kZeros.size(), bytes - done);
    if (const int error = write_whole(file, kZeros.data(), count, offset + done); error != 0) return error;
  }
  return 0;
}

/// Allocates space on the disk, so that its mapping can be written to. Writes zeros if the file system cannot
/// allocate. Returns the errno, or 0.
int allocate_on_disk(int file, std::uint64_t offset, std::uint64_t bytes) {
  if (exceeds_file_limit(offset + bytes)) return EFBIG;
  while (fallocate(file, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0) {
    if (errno == EOPNOTSUPP || errno == ENOSYS) return write_zeros(file, offset, bytes);
    if (errno != EINTR) return errno;
  }
  return 0;
}

/// Moves the file to a descriptor that the program reaches only after it has opened nearly as many as it may.
/// Returns that descriptor, or `file` if there is none.
int with_high_number(int file) {
  // The kernel's descriptor table grows with the highest number: 8 KiB at 1024.
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

constinit CallStacks call_stacks;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Holds the mutex with signals blocked, because a signal handler that waits or allocates must not run in the
/// thread that holds it.
class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) {
    sigset_t signals;
    sigfillset(&signals);
    // Faults of the thread itself: if they were blocked, they would end the program without calling its
    // handler.
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&signals, fault);
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    pthread_mutex_lock(&mutex_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    pthread_mutex_unlock(&mutex_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  pthread_mutex_t& mutex_;
  sigset_t before_{};
};

/// Returns the bytes of a variable; 0 if it is not set, or is not a number of bytes, which is reported.
/// `option`: the option of `record`.
std::int64_t limit_from_environment(const char* variable, const char* option) {
  const char* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return 0;
  char* end = nullptr;
  const long long bytes = std::strtoll(text, &end, 10);  // an overflow exceeds kMaxBudget
  if (*end == '\0' && bytes > 0 && bytes <= kMaxBudget) return bytes;
  char message[192];
  snprintf(message, sizeof(message),
           "no allocation is refused: %s=%.40s is not a number of bytes from 1 to %lld; use `peakmark record "
           "%s SIZE`",
           variable, text, static_cast<long long>(kMaxBudget), option);
  report_error(message);
  return 0;
}

}  // namespace

bool ProfileWriter::open_from_environment(const char* recorder) {
  const char* const path = std::getenv("PEAKMARK_PROFILE");
  if (path == nullptr || *path == '\0') {
    dprintf(STDERR_FILENO,
            "peakmark: nothing is recorded: set PEAKMARK_PROFILE to the file to write, or start the program "
            "with `peakmark record`\n");
    return false;
  }
  const char* const stacks = std::getenv("PEAKMARK_STACKS");
  if (stacks != nullptr && std::strcmp(stacks, "1") == 0) {
    call_stacks.start();
    stacks_ = &call_stacks;
  }
  if (const char* const bytes = std::getenv("PEAKMARK_MAX_BYTES"); bytes != nullptr && *bytes != '\0') {
    max_extents_ =
        std::clamp<std::uint64_t>(std::strtoull(bytes, nullptr, 10) / kExtentBytes, 1, kMaxExtents);
  }
  budget_ = limit_from_environment("PEAKMARK_BUDGET", "--budget");
  max_allocation_ = limit_from_environment("PEAKMARK_MAX_ALLOCATION", "--max-allocation");
  const char* const sync = std::getenv("PEAKMARK_SYNC");
  is_synced_ = sync != nullptr && std::strcmp(sync, "1") == 0;
  if (const char* const id = std::getenv("PEAKMARK_RECORDING");
      id != nullptr && std::strlen(id) + 1 == sizeof(recording_)) {
    std::memcpy(recording_, id, sizeof(recording_));
  }
  if (!open(path, recorder)) return false;
  // A mark of a program that was built with an older phase.h (marks.h). It counts only if this process set
  // it, not a parent.
  if (const char* const mark = std::getenv(PEAKMARK_PHASE_VARIABLE); mark != nullptr) {
    char* text = nullptr;
    if (std::strtol(mark, &text, 10) == getpid() && *text == ':') open_ranges().mark(text + 1);
  }
  open_ranges().attach(*this);
  return true;
}

bool ProfileWriter::open(const char* path, const char* recorder) {
  const int saved = errno;
  bool opened = false;
  {
    const Lock lock(growing_);
    // The program may change its working folder before a forked child opens its own file.
    char folder[kMaxPath] = "";
    if (path[0] != '/' && getcwd(folder, sizeof(folder)) == nullptr) folder[0] = '\0';
    const int length = snprintf(base_, sizeof(base_), path[0] == '/' ? "%s%s" : "%s/%s", folder, path);
    snprintf(recorder_, sizeof(recorder_), "%s", recorder);
    if (length < 0 || static_cast<std::size_t>(length) + 32 > sizeof(base_)) {
      snprintf(path_, sizeof(path_), "PEAKMARK_PROFILE");
      state_ = State::stopped;
      report("its path is too long", ENAMETOOLONG);
    } else {
      opened = create_file();
    }
  }
  if (opened) follow_forks();
  errno = saved;
  return opened;
}

/// A process may outlive its recording, which was killed, and have its first event when another recording has
/// taken the name. Its memory is not part of that recording.
bool ProfileWriter::is_of_another_recording() const {
  char text[kMaxPath + 32];
  snprintf(text, sizeof(text), "%s%s", base_, kRecordingLockEnding);
  const int file = recording_[0] == '\0' ? -1 : ::open(text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return false;
  constexpr std::size_t kDigits = sizeof(recording_) - 1;
  const bool has_id = ::pread(file, text, kDigits, 0) == static_cast<ssize_t>(kDigits);
  ::close(file);
  return has_id && std::memcmp(text, recording_, kDigits) != 0;
}

/// Creates the file, and maps its header and its first extent.
bool ProfileWriter::create_file() {
  if (is_of_another_recording()) {
    state_ = State::stopped;
    return false;
  }
  int created = -1;
  for (int attempt = 1; attempt < 1000; ++attempt) {
    if (attempt == 1) {
      snprintf(path_, sizeof(path_), "%.*s.%d", static_cast<int>(sizeof(path_) - 32), base_, getpid());
    } else {
      snprintf(path_, sizeof(path_), "%.*s.%d.%d", static_cast<int>(sizeof(path_) - 32), base_, getpid(),
               attempt);
    }
    created = ::open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (created >= 0 || errno != EEXIST) break;
  }
  struct stat status {};
  if (created < 0 || fstat(created, &status) != 0) {
    const int error = errno;
    if (created >= 0) ::close(created);
    state_ = State::stopped;
    report("it cannot be created", error);
    return false;
  }
  // The mapping of the header also holds the lock, even if the program closes the descriptor.
  // is_being_written() may hold it briefly.
  for (int attempt = 0; attempt < 10 && flock(created, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
       ++attempt) {
    usleep(1000);
  }
  descriptor_ = with_high_number(created);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  state_ = State::open;
  extend();
  if (state_ != State::open || !map_header()) return false;
  fill_header();
  return true;
}

bool ProfileWriter::map_header() {
  void* const memory =
      mmap(nullptr, ProfileHeader::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) {
    stop(errno);
    return false;
  }
  header_.store(static_cast<ProfileHeader*>(memory), std::memory_order_release);
  return true;
}

void ProfileWriter::fill_header() {
  ProfileHeader& header = *header_.load(std::memory_order_relaxed);
  header.version = ProfileHeader::kVersion;
  header.minor = ProfileHeader::kMinor;
  header.header_bytes = ProfileHeader::kBytes;
  header.pid = getpid();
  header.parent_pid = getppid();
  header.start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  header.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  header.budget = budget_;
  header.is_synced = is_synced_ ? 1 : 0;
  std::memcpy(header.recorder, recorder_, sizeof(header.recorder));
  for (std::size_t i = 0; i < sizeof(header.recording) && recording_[0] != '\0'; ++i) {
    const char digits[3] = {recording_[2 * i], recording_[2 * i + 1], '\0'};
    header.recording[i] = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
  }
  if (const int descriptor = ::open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC); descriptor >= 0) {
    std::size_t done = 0;
    ssize_t got = 0;
    while (done < sizeof(header.command_line) &&
           (got = ::read(descriptor, header.command_line + done, sizeof(header.command_line) - done)) > 0) {
      done += static_cast<std::size_t>(got);
    }
    ::close(descriptor);
  }
  std::memcpy(header.magic, ProfileHeader::kMagic, sizeof(header.magic));
}

/// Writes a slot whose extent is not mapped yet, or cannot be mapped.
void ProfileWriter::put_slowly(const Event& event, std::uint64_t index) {
  const int saved = errno;
  {
    const Lock lock(growing_);
    if (state_ == State::inherited) create_file();
    const std::uint64_t position = index + kHeaderSlots;
    const std::uint64_t extent = position / kSlotsPerExtent;
    while (state_ == State::open && extents_ <= extent && index < kClosed) extend();
    int error = EOVERFLOW;  // or the error of extend(), which has already reported it
    if (extent < extents_) {
      Event* slots = table_[extent].load(std::memory_order_relaxed);
      if (slots == nullptr && state_ == State::open) slots = map(extent);
      if (slots != nullptr) commit(slots[position % kSlotsPerExtent], event, index);
      error = slots != nullptr ? 0 : write_unmapped(event, index);
    }
    if (error != 0 && index < kClosed) {
      if (state_ == State::open) stop(error);
      if (ProfileHeader* const header = header_.load(std::memory_order_relaxed)) ++header->lost;
    }
  }
  errno = saved;
}

/// Allocates the next extent on the disk, and maps it if possible.
void ProfileWriter::extend() {
  if (extents_ == max_extents_) return stop(EOVERFLOW);
  const int file = descriptor();
  if (file < 0) return stop(-file);
  if (const int error = allocate_on_disk(file, extents_ * kExtentBytes, kExtentBytes); error != 0) {
    return stop(error);
  }
  map(extents_++);
}

/// Writes the commit last, as commit() does. Returns the errno, or 0.
int ProfileWriter::write_unmapped(const Event& event, std::uint64_t index) {
  const int file = descriptor();
  if (file < 0) return -file;
  const std::uint64_t offset = ProfileHeader::kBytes + index * sizeof(Event);
  Event written = event;
  written.commit = index + 1;
  const auto* const bytes = reinterpret_cast<const char*>(&written);
  constexpr std::size_t kCommit = sizeof(written.commit);
  const int error = write_whole(file, bytes + kCommit, sizeof(Event) - kCommit, offset + kCommit);
  return error != 0 ? error : write_whole(file, bytes, kCommit, offset);
}

bool ProfileWriter::is_own(int descriptor) const {
  struct stat status {};
  return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device_ &&
         status.st_ino == inode_;
}

/// Returns the descriptor of the file, reopened if the program has closed it, or the negative error.
int ProfileWriter::descriptor() {
  if (is_own(descriptor_)) return descriptor_;
  const int file = ::open(path_, O_RDWR | O_CLOEXEC);
  if (file < 0) return -errno;
  if (!is_own(file)) {
    ::close(file);
    return -EEXIST;
  }
  return descriptor_ = with_high_number(file);
}

void ProfileWriter::close_descriptor() {
  if (is_own(descriptor_)) ::close(descriptor_);
  descriptor_ = -1;
}

void ProfileWriter::stop(int error) {
  if (state_ == State::stopped) return;
  state_ = State::stopped;
  if (ProfileHeader* const header = header_.load(std::memory_order_relaxed)) header->stop_error = error;
  report(stop_reason(error), error);
}

void ProfileWriter::report(const char* what, int error) const {
  char why[256];
  const bool is_known = error != EOVERFLOW;  // EOVERFLOW is not a system error
  snprintf(why, sizeof(why), "%s%s%s%s; %s", what, is_known ? " (" : "", is_known ? strerror(error) : "",
           is_known ? ")" : "", stop_advice(error));
  char text[kMaxPath + sizeof(why) + 32];
  snprintf(text, sizeof(text), "recording into %s stops here: %s", path_, why);
  report_error(text, RecorderErrorKind::stopped, why);
}

void ProfileWriter::close() {
  const int saved = errno;
  {
    const Lock lock(growing_);
    ProfileHeader* const header = header_.load(std::memory_order_relaxed);
    if (header != nullptr && state_ != State::inherited && header->closed == 0) {
      // From here on every new slot is beyond kClosed, so no thread writes to the truncated part.
      std::uint64_t end = reserved_.fetch_add(kClosed, std::memory_order_acq_rel);
      // Threads that hold a slot beyond the mapped extents wait for the lock.
      const auto capacity = [this] { return extents_ * kSlotsPerExtent - kHeaderSlots; };
      while (state_ == State::open && capacity() < end) extend();
      if (capacity() < end) end = capacity();
      header->end = end;
      header->end_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
      std::atomic_ref(header->closed).store(1, std::memory_order_release);
      if (const int file = descriptor(); file >= 0) {
        if (ftruncate(file, static_cast<off_t>(ProfileHeader::kBytes + end * sizeof(Event))) != 0) {
          // If this fails, the file stays longer than necessary: the reader stops at `end`.
        }
        flock(file, LOCK_UN);
      }
      close_descriptor();
      state_ = State::stopped;
    }
  }
  errno = saved;
}

const char* ProfileWriter::path() {
  const int saved = errno;
  const Lock lock(growing_);
  if (state_ == State::inherited) create_file();
  errno = saved;
  return header_.load(std::memory_order_relaxed) == nullptr ? nullptr : path_;
}

}  // namespace peakmark
