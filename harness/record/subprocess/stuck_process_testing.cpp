#include "record/subprocess/stuck_process_testing.hpp"

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace peakmark {
namespace {

std::string why(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

void wait_for_end_of(const std::string& fifo) {
  const int descriptor = ::open(fifo.c_str(), O_RDONLY);
  char byte = 0;
  while (::read(descriptor, &byte, 1) > 0) {
  }
  ::_exit(0);
}

void write_file(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  [[maybe_unused]] const ssize_t written = ::write(file, text.data(), text.size());
  ::close(file);
}

/// Enters new namespaces, in which this process may mount a file system that no other process sees. Returns
/// an error; empty if it succeeds.
std::string enter_namespaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWNS | (user == 0 ? 0 : CLONE_NEWUSER)) != 0) return why("unshare");
  if (user != 0) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(user) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(group) + " 1");
  }
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return why("mount --make-rprivate /");
  return {};
}

/// Answers the kernel's first request.
void answer_init(int device) {
  std::array<char, FUSE_MIN_READ_BUFFER> request{};
  if (::read(device, request.data(), request.size()) < 0) ::_exit(1);
  fuse_in_header header{};
  std::memcpy(&header, request.data(), sizeof header);
  struct {
    fuse_out_header header;
    fuse_init_out init;
  } answer{};
  answer.header = {sizeof answer, 0, header.unique};
  answer.init.major = FUSE_KERNEL_VERSION;
  answer.init.minor = FUSE_KERNEL_MINOR_VERSION;
  answer.init.max_write = 4096;
  if (::write(device, &answer, sizeof answer) != sizeof answer) ::_exit(1);
}

}  // namespace

bool trace_this_process(const std::string& fifo) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return false;
  ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const pid_t traced = ::getpid();
  if (::fork() == 0) {
    ::setsid();
    const char done = ::ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = ::write(ends[1], &done, 1);
    ::close_range(0, ~0U, 0);
    wait_for_end_of(fifo);
  }
  char done = 'n';
  [[maybe_unused]] const ssize_t heard = ::read(ends[0], &done, 1);
  ::close(ends[0]);
  ::close(ends[1]);
  return done == 'y';
}

std::string sleep_uninterruptibly(const std::string& fifo, int descriptor, const std::string& ready) {
  const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return why("/dev/fuse");
  if (const std::string refused = enter_namespaces(); !refused.empty()) return refused;
  const std::string folder = fifo + ".mount";
  ::mkdir(folder.c_str(), 0700);
  const std::string options = "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0";
  if (::mount("peakmark", folder.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
    return why("mounting FUSE");
  if (::fork() == 0) {
    ::setsid();
    answer_init(device);
    std::array<char, FUSE_MIN_READ_BUFFER> request{};
    if (::read(device, request.data(), request.size()) > 0) {
      [[maybe_unused]] const ssize_t written = ::write(descriptor, ready.data(), ready.size());
    }
    wait_for_end_of(fifo);  // also ends the file system, and its clients get an error
  }
  ::close(device);
  struct stat status {};
  ::stat((folder + "/file").c_str(), &status);
  return "the file system answered";
}

}  // namespace peakmark
