#include "record/subprocess/processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/text.hpp"

namespace peakmark {

namespace {

constexpr int kAskEvery = 20;  // ms, if there is no descriptor to watch

std::vector<pid_t> given_up;

std::optional<WorkerEnd> reap_child(pid_t child) {
  int status = 0;
  pid_t reaped = 0;
  do reaped = ::waitpid(child, &status, WNOHANG);
  while (reaped < 0 && errno == EINTR);
  if (reaped == 0) return std::nullopt;
  WorkerEnd end;  // stays unknown for a child that no longer exists
  if (reaped == child && WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (reaped == child && WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

std::vector<pid_t> children_but(pid_t but) {
  std::vector<pid_t> children = children_of(::getpid());
  std::erase(children, but);
  for (const pid_t hangs : given_up_children()) std::erase(children, hangs);
  return children;
}

/// Returns whether one of the strings, each ended by NUL, begins with `entry`.
bool begins_one_of(const std::string& strings, const std::string& entry) {
  return strings.starts_with(entry) || strings.find(std::string(1, '\0') + entry) != std::string::npos;
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

// A system call, because glibc 2.36 declares pidfd_open without extern "C".
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
  if (result != 0 || info.si_pid == child_) return true;  // it failed: the child no longer exists
  // If a debugger has not yet waited for the child's end, this process cannot reap it, but its descriptor is
  // readable: polling the descriptor would not sleep. So it is closed.
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
      "a reset",
      child);
}

const std::vector<pid_t>& given_up_children() {
  std::erase_if(given_up, [](pid_t child) { return reap_child(child).has_value(); });
  return given_up;
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<pid_t> end_orphans(pid_t but, std::chrono::milliseconds limit) {
  const auto until = ChildWatch::Clock::now() + limit;
  std::vector<pid_t> hanging;
  // After a child is killed, its children become ours.
  for (std::vector<pid_t> left = children_but(but); !left.empty(); left = children_but(but)) {
    for (const pid_t child : left) ::kill(child, SIGKILL);
    for (const pid_t child : left) {
      ChildWatch watch(child);
      if (watch.wait_until(until)) {
        watch.reap();
      } else {
        give_up_child(child);
        hanging.push_back(child);
      }
    }
  }
  return hanging;
}

void end_processes_with(const std::string& name, const std::string& value) {
  const std::string variable = name + "=" + value;
  for_each_environment([&](pid_t process, const std::string& environment) {
    if (begins_one_of(environment, variable)) ::kill(process, SIGKILL);
  });
}

std::optional<std::string> read_proc_file(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  ssize_t got = 0;
  do {
    char piece[16384];
    got = read(descriptor, piece, sizeof(piece));
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  close(descriptor);
  if (got < 0) return std::nullopt;
  return text;
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code error;
  // Incrementing also fails once the process has ended.
  for (std::filesystem::directory_iterator thread("/proc/" + std::to_string(process) + "/task", error), end;
       !error && thread != end; thread.increment(error)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

void for_each_environment(const std::function<void(pid_t process, const std::string& environment)>& use) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), last; !error && entry != last;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const auto process = parse_number<pid_t>(name);
    if (!process || *process == getpid()) continue;
    if (const auto environment = read_proc_file(entry->path() / "environ")) use(*process, *environment);
  }
}

}  // namespace peakmark
