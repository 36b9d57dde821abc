#include "subprocess/child_end.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace peakmark {
namespace {

constexpr int kAskEvery = 20;  // ms, where there is no descriptor to watch

std::vector<pid_t> given_up;

std::optional<WorkerEnd> reap_child(pid_t child) {
  int status = 0;
  pid_t reaped = 0;
  do reaped = ::waitpid(child, &status, WNOHANG);
  while (reaped < 0 && errno == EINTR);
  if (reaped == 0) return std::nullopt;
  WorkerEnd end;  // of a child that is not there any more nothing is known
  if (reaped == child && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (reaped == child && WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace

std::string WorkerEnd::text() const {
  if (signal) {
    const char* name = ::sigabbrev_np(*signal);
    return "signal " + (name != nullptr ? "SIG" + std::string(name) : std::to_string(*signal)) + " (" +
           ::strsignal(*signal) + ")";
  }
  return exit_code ? "exit code " + std::to_string(*exit_code) : "an unknown end";
}

// glibc 2.36 declares pidfd_open without extern "C".
ChildWatch::ChildWatch(pid_t child)
    : child_(child), descriptor_(static_cast<int>(::syscall(SYS_pidfd_open, child, 0))) {}

ChildWatch::~ChildWatch() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int ChildWatch::poll_limit(int milliseconds) const {
  if (descriptor_ >= 0) return milliseconds;
  return milliseconds < 0 ? kAskEvery : std::min(milliseconds, kAskEvery);
}

bool ChildWatch::has_ended() {
  siginfo_t info{};
  int result = 0;
  do result = ::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT);
  while (result != 0 && errno == EINTR);
  if (result != 0 || info.si_pid == child_) return true;  // it failed: the child is not there any more
  // A debugger that has not waited for its end keeps a dead process from us, while its descriptor is
  // readable: whoever polled that would not sleep.
  pollfd ended{descriptor_, POLLIN, 0};
  if (descriptor_ >= 0 && ::poll(&ended, 1, 0) == 1) ::close(std::exchange(descriptor_, -1));
  return false;
}

bool ChildWatch::wait_until(Clock::time_point until) {
  for (;;) {
    if (has_ended()) return true;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd watched{descriptor_, POLLIN, 0};
    ::poll(&watched, 1, poll_limit(static_cast<int>(std::min<std::int64_t>(left, 1'000'000))));
  }
}

std::optional<WorkerEnd> ChildWatch::reap() {
  return reap_child(child_);
}

void give_up_child(pid_t child) {
  if (std::ranges::find(given_up, child) == given_up.end()) given_up.push_back(child);
}

std::string given_up_text(pid_t child) {
  return fmt::format(
      "process {} cannot be killed: it hangs inside its driver, or a debugger holds it; the device may need "
      "a "
      "reset",
      child);
}

const std::vector<pid_t>& given_up_children() {
  std::erase_if(given_up, [](pid_t child) { return reap_child(child).has_value(); });
  return given_up;
}

}  // namespace peakmark
