#include "record/process_ends.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "record/profile.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// The process that writes NAME.<pid> or NAME.<pid>.2; 0 for any other file.
pid_t process_of(std::string_view file, std::string_view name) {
  if (!file.starts_with(name) || file.size() < name.size() + 2 || file[name.size()] != '.') return 0;
  const std::string number(file.substr(name.size() + 1));
  char* end = nullptr;
  const long process = std::strtol(number.c_str(), &end, 10);
  return end != number.c_str() && (*end == '\0' || *end == '.') && process > 0 ? static_cast<pid_t>(process)
                                                                               : 0;
}

/// Into the header, unless the recorder closed the profile.
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

ProcessEnds::ProcessEnds(fs::path name)
    : name_(std::move(name)),
      folder_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  if (folder_ < 0 || stop_ < 0 || inotify_add_watch(folder_, name_.parent_path().c_str(), IN_CREATE) < 0)
    return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // No thread is to be had: the ends stay unknown.
  }
}

ProcessEnds::~ProcessEnds() {
  if (thread_.joinable()) {
    eventfd_write(stop_, 1);
    thread_.join();
  }
  if (folder_ >= 0) close(folder_);
  if (stop_ >= 0) close(stop_);
}

void ProcessEnds::watch() {
  std::vector<Watched> all;
  const std::string name = name_.filename().string();

  const auto begin = [&](const char* file) {
    const pid_t process = process_of(file, name);
    if (process == 0) return;
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
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    stopping = waits[0].revents != 0;
    read_folder();
    // Those that have come just now are asked too, for when this is the last time.
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
