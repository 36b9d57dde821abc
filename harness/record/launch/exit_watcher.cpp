#include "record/launch/exit_watcher.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "record/profile/profile.hpp"
#include "record/profile/profile_files.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Writes the end time into the header, unless the recorder has closed the profile.
void write_end(const fs::path& file, std::int64_t time_ns) {
  const int descriptor = open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return;
  ProfileHeader header{};
  if (pread(descriptor, &header, sizeof(header), 0) == static_cast<ssize_t>(sizeof(header)) &&
      header.closed == 0 && header.end_monotonic_ns == 0 && header.start_monotonic_ns != 0) {
    [[maybe_unused]] const ssize_t written =
        pwrite(descriptor, &time_ns, sizeof(time_ns), offsetof(ProfileHeader, end_monotonic_ns));
  }
  close(descriptor);
}

struct Watched {
  int process = -1;  ///< pidfd
  fs::path file;
};

}  // namespace

ExitWatcher::ExitWatcher(fs::path name)
    : name_(std::move(name)),
      folder_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  if (folder_ < 0 || stop_ < 0 || inotify_add_watch(folder_, name_.parent_path().c_str(), IN_CREATE) < 0)
    return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // Without a thread, end times stay unknown.
  }
}

ExitWatcher::~ExitWatcher() {
  stop();
  if (folder_ >= 0) close(folder_);
  if (stop_ >= 0) close(stop_);
}

void ExitWatcher::stop() {
  if (!thread_.joinable()) return;
  eventfd_write(stop_, 1);
  thread_.join();
}

std::vector<fs::path> ExitWatcher::removed() const {
  std::vector<fs::path> removed;
  std::error_code error;
  for (const fs::path& file : begun_) {
    if (!fs::exists(file, error)) removed.push_back(file);
  }
  return removed;
}

void ExitWatcher::watch() {
  std::vector<Watched> all;
  const std::string name = name_.filename().string();

  const auto begin = [&](const char* file) {
    const auto number = process_in_name(file, name);
    if (!number) return;
    const auto process = static_cast<pid_t>(*number);
    begun_.push_back(name_.parent_path() / file);
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor >= 0) {
      all.push_back({descriptor, name_.parent_path() / file});
    } else if (errno == ESRCH) {
      write_end(name_.parent_path() / file, now_ns());
    }
  };
  const auto read_folder = [&] {
    alignas(inotify_event) char events[4096];
    for (ssize_t got = 0; (got = read(folder_, events, sizeof(events))) > 0;) {
      for (const char* at = events; at < events + got;) {
        const auto& event = *reinterpret_cast<const inotify_event*>(at);
        if (event.len > 0) begin(event.name);
        at += sizeof(event) + event.len;
      }
    }
  };

  for (bool stopping = false; !stopping;) {
    std::vector<pollfd> waits{{stop_, POLLIN, 0}, {folder_, POLLIN, 0}};
    for (const Watched& one : all) waits.push_back({one.process, POLLIN, 0});
    if (poll(waits.data(), waits.size(), -1) < 0) {
      if (errno == EINTR) continue;
      break;  // no memory, or a reduced descriptor limit: end times stay unknown
    }
    stopping = waits[0].revents != 0;
    read_folder();
    // New processes are polled, too, in case this is the last round.
    std::erase_if(all, [](const Watched& one) {
      pollfd wait{one.process, POLLIN, 0};
      if (poll(&wait, 1, 0) != 1) return false;
      write_end(one.file, now_ns());
      close(one.process);
      return true;
    });
  }
  for (const Watched& one : all) close(one.process);
}

}  // namespace peakmark
