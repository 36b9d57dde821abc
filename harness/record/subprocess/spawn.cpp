#include "record/subprocess/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

/// Becomes the program, in the child. Uses only calls that are safe between fork and exec, because the parent
/// has threads of drivers.
[[noreturn]] void become(const char* program, char** arguments, char** environment,
                         const std::array<int, 4>& descriptors, int report, pid_t parent, bool own_group) {
  const auto fail = [report] {
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
    ::_exit(127);
  };
  if (own_group) ::setpgid(0, 0);
  // posix_spawn cannot set this. Without it, kill −9 of the supervisor would leave a worker behind.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (::getppid() != parent) ::_exit(127);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Descriptors are first moved above the final numbers, so that none is overwritten.
  std::array<int, 5> moved{};
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const int wanted = i < 4 ? descriptors[i] : report;
    moved[i] = wanted < 0 ? -1 : ::fcntl(wanted, F_DUPFD_CLOEXEC, 10);
    if (wanted >= 0 && moved[i] < 0) fail();
  }
  for (int i = 0; i < 4; ++i) {
    const int from = moved[static_cast<std::size_t>(i)];
    if (from < 0) {
      ::close(i);
    } else if (::dup2(from, i) < 0) {
      fail();
    }
  }
  ::dup3(moved[4], 4, O_CLOEXEC);
  ::close_range(5, ~0U, 0);
  report = 4;
  ::execve(program, arguments, environment);
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

/// Returns the error that the child reports, or 0 when exec has closed the pipe. Null if neither happens
/// before `until`.
std::optional<int> wait_for_exec(int report, ChildWatch::Clock::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - ChildWatch::Clock::now()).count();
    pollfd readable{report, POLLIN, 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1'000'000)));
    if (ready <= 0 && left <= 0) return std::nullopt;
    if (ready <= 0) continue;
    int error = 0;
    const ssize_t got = ::read(report, &error, sizeof error);
    if (got < 0 && errno == EINTR) continue;
    return got == sizeof error ? error : 0;
  }
}

/// Kills and reaps a child that has not become the program.
void end_failed_child(pid_t child) {
  ::kill(child, SIGKILL);
  ChildWatch watch(child);
  if (watch.wait_until(ChildWatch::Clock::now() + kKillLimit)) {
    watch.reap();
  } else {
    give_up_child(child);
  }
}

}  // namespace

pid_t spawn(const WorkerCommand& command, const std::array<int, 4>& descriptors,
            const SpawnOptions& options) {
  std::vector<std::string> argument_texts{command.program.string()};
  argument_texts.insert(argument_texts.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment_texts = command.environment;
  std::vector<char*> arguments = exec_pointers(argument_texts);
  std::vector<char*> environment_pointers = exec_pointers(environment_texts);
  char** const environment = command.environment.empty() ? environ : environment_pointers.data();

  Pipe report;
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(command.program.c_str(), arguments.data(), environment, descriptors, report.write_end.get(),
           parent, options.own_group);
  }
  std::optional<int> error = pid < 0 ? errno : 0;
  report.write_end.close();
  if (pid > 0) error = wait_for_exec(report.read_end.get(), ChildWatch::Clock::now() + options.limit);
  if (error == 0) return pid;
  if (pid > 0) end_failed_child(pid);
  if (!error) {
    throw StartTimeout(
        fmt::format("{}: cannot be started: the system has not started it after {:g} s; check that its file "
                    "system answers",
                    command.program.string(), static_cast<double>(options.limit.count()) / 1000));
  }
  throw IoError(command.program.string() + ": cannot be started: " + exec_failure(command.program, *error),
                *error);
}

}  // namespace peakmark
