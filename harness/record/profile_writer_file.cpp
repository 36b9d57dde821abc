// The file under a ProfileWriter: created, extended, closed, and left alone by forked children.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "record/call_stack.hpp"
#include "record/marks.h"
#include "record/open_ranges.hpp"
#include "record/profile_writer.hpp"
#include "record/thread_id.hpp"
#include "record/trouble.hpp"

namespace peakmark {
namespace {

std::atomic<ProfileWriter*> followed{nullptr};
constinit CallStacks call_stacks;

std::int64_t clock_ns(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

class Lock {
 public:
  explicit Lock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

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
  if (!open(path, recorder)) return false;
  // A mark of a program built with an older phase.h (marks.h). Only of this process: a parent's mark does not
  // hold here.
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
    // The program may change its folder before a forked child opens a file of its own.
    char folder[kMaxPath] = "";
    if (path[0] != '/' && getcwd(folder, sizeof(folder)) == nullptr) folder[0] = '\0';
    const int length = snprintf(base_, sizeof(base_), path[0] == '/' ? "%s%s" : "%s/%s", folder, path);
    snprintf(recorder_, sizeof(recorder_), "%s", recorder);
    if (length < 0 || static_cast<std::size_t>(length) + 32 > sizeof(base_)) {
      snprintf(path_, sizeof(path_), "PEAKMARK_PROFILE");
      stop("its path is too long", ENAMETOOLONG);
    } else {
      opened = create_file();
    }
  }
  if (opened) follow_forks();
  errno = saved;
  return opened;
}

/// Creates the file and maps its first extent, which holds the header.
bool ProfileWriter::create_file() {
  int descriptor = -1;
  for (int attempt = 1; attempt < 1000; ++attempt) {
    if (attempt == 1) {
      snprintf(path_, sizeof(path_), "%.*s.%d", static_cast<int>(sizeof(path_) - 32), base_, getpid());
    } else {
      snprintf(path_, sizeof(path_), "%.*s.%d.%d", static_cast<int>(sizeof(path_) - 32), base_, getpid(),
               attempt);
    }
    descriptor = ::open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) break;
  }
  struct stat status {};
  const int error = descriptor < 0 || fstat(descriptor, &status) != 0 ? errno : 0;
  if (descriptor >= 0) ::close(descriptor);
  if (error != 0) {
    stop("it cannot be created", error);
    return false;
  }
  device_ = status.st_dev;
  inode_ = status.st_ino;
  state_ = State::open;
  Event* const first = map_extent(0);
  if (first == nullptr) return false;
  header_.store(reinterpret_cast<ProfileHeader*>(first), std::memory_order_release);
  fill_header();
  return true;
}

void ProfileWriter::fill_header() {
  ProfileHeader& header = *header_.load(std::memory_order_relaxed);
  header.version = ProfileHeader::kVersion;
  header.header_bytes = ProfileHeader::kBytes;
  header.pid = getpid();
  header.parent_pid = getppid();
  header.start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
  header.start_realtime_ns = clock_ns(CLOCK_REALTIME);
  std::memcpy(header.recorder, recorder_, sizeof(header.recorder));
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

/// The slow road: the slot's extent is not mapped yet, or never will be.
Event* ProfileWriter::grow(std::uint64_t index) {
  const int saved = errno;
  Event* found = nullptr;
  {
    const Lock lock(growing_);
    if (state_ == State::inherited) create_file();
    const std::uint64_t position = index + kHeaderSlots;
    const std::uint64_t extent = position / kSlotsPerExtent;
    while (state_ == State::open && extents_ <= extent && extent < kMaxExtents) map_extent(extents_);
    if (extent < extents_) {
      found = table_[extent].load(std::memory_order_relaxed) + position % kSlotsPerExtent;
    } else if (index < kClosed) {
      if (state_ == State::open) stop("it holds as many events as a profile can", EFBIG);
      if (ProfileHeader* const header = header_.load(std::memory_order_relaxed)) ++header->lost;
    }
  }
  errno = saved;
  return found;
}

Event* ProfileWriter::map_extent(std::uint64_t extent) {
  // Opened anew each time: a descriptor kept open could be closed by the program and its number given to a
  // file of the program's own. For the same reason it is closed before stop() writes to standard error.
  const char* refused = nullptr;
  int error = 0;
  void* memory = MAP_FAILED;
  const int descriptor = ::open(path_, O_RDWR | O_CLOEXEC);
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    refused = "it cannot be opened again";
    error = errno;
  } else if (status.st_dev != device_ || status.st_ino != inode_) {
    refused = "another file has taken its place";
    error = EEXIST;
  } else if ((error = allocate(descriptor, extent * kExtentBytes)) != 0) {
    refused = error == EFBIG ? "the limit on file sizes (ulimit -f) is reached" : "it finds no room";
  } else {
    memory = mmap(nullptr, kExtentBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor,
                  static_cast<off_t>(extent * kExtentBytes));
    if (memory == MAP_FAILED) {
      refused = "it cannot be mapped";
      error = errno;
    }
  }
  if (descriptor >= 0) ::close(descriptor);
  if (refused != nullptr) {
    stop(refused, error);
    return nullptr;
  }
  auto* const slots = static_cast<Event*>(memory);
  extents_ = extent + 1;
  table_[extent].store(slots, std::memory_order_release);
  return slots;
}

/// Takes the disk's room for an extent; gives the error.
int ProfileWriter::allocate(int descriptor, std::uint64_t offset) {
  // Beyond the limit the kernel does not only refuse, it sends SIGXFSZ, which would kill the program.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      offset + kExtentBytes > limit.rlim_cur) {
    return EFBIG;
  }
  int error = EINTR;
  while (error == EINTR) {
    error = posix_fallocate(descriptor, static_cast<off_t>(offset), static_cast<off_t>(kExtentBytes));
  }
  return error;
}

void ProfileWriter::stop(const char* what, int error) {
  if (state_ == State::stopped) return;
  state_ = State::stopped;
  char text[kMaxPath + 256];
  snprintf(text, sizeof(text), "recording into %s%s%s (%s)", path_, kStopsHere, what, strerror(error));
  tell_trouble(text);
}

void ProfileWriter::close() {
  const int saved = errno;
  {
    const Lock lock(growing_);
    ProfileHeader* const header = header_.load(std::memory_order_relaxed);
    if (header != nullptr && state_ != State::inherited && header->closed == 0) {
      // From here on no slot is given out inside the file, so that what is cut off can never be written to.
      std::uint64_t end = reserved_.fetch_add(kClosed, std::memory_order_acq_rel);
      // Whoever holds such a slot beyond what is mapped waits for the lock.
      const auto room = [this] { return extents_ * kSlotsPerExtent - kHeaderSlots; };
      while (state_ == State::open && room() < end) map_extent(extents_);
      if (room() < end) end = room();
      header->end = end;
      header->end_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
      std::atomic_ref(header->closed).store(1, std::memory_order_release);
      struct stat status {};
      if (stat(path_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_ &&
          truncate(path_, static_cast<off_t>(ProfileHeader::kBytes + end * sizeof(Event))) != 0) {
        // Left longer than it need be: `end` tells the reader where the events stop.
      }
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

void ProfileWriter::follow_forks() {
  static std::atomic<bool> registered{false};
  followed.store(this);
  if (!registered.exchange(true)) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void ProfileWriter::before_fork() {
  if (ProfileWriter* const writer = followed.load()) pthread_mutex_lock(&writer->growing_);
}

void ProfileWriter::after_fork_in_parent() {
  if (ProfileWriter* const writer = followed.load()) pthread_mutex_unlock(&writer->growing_);
}

void ProfileWriter::after_fork_in_child() {
  ProfileWriter* const writer = followed.load();
  if (writer == nullptr) return;
  forget_thread_id();
  // The parent's extents stay mapped, since a thread that was about to write to one does not exist here; they
  // are only forgotten. A child that was forked from a recording that had ended records nothing.
  for (std::uint64_t i = 0; i < writer->extents_; ++i) writer->table_[i].store(nullptr);
  writer->extents_ = 0;
  writer->header_.store(nullptr);
  if (writer->state_ == State::open) {
    writer->state_ = State::inherited;
    writer->reserved_.store(0);
  }
  pthread_mutex_unlock(&writer->growing_);
}

}  // namespace peakmark
