#include "run/spawn.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/error.hpp"
#include "base/program_trouble.hpp"
#include "base/word_pointers.hpp"

namespace peakmark {
namespace {

/// In the child: between fork and exec only what is safe there, for drivers keep threads in the parent.
[[noreturn]] void become(const char* program, char** arguments, char** environment,
                         const std::array<int, 4>& descriptors, int report, pid_t parent, bool own_group) {
  const auto fail = [report] {
    const int error = errno;
    [[maybe_unused]] const ssize_t told = ::write(report, &error, sizeof error);
    ::_exit(127);
  };
  if (own_group) ::setpgid(0, 0);
  // posix_spawn cannot ask for this, and without it a kill −9 of the supervisor would leave a worker behind.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (::getppid() != parent) ::_exit(127);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // First above the numbers wanted, so that none is overwritten before it is moved.
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
  [[maybe_unused]] const ssize_t told = ::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

pid_t spawn(const WorkerCommand& command, const std::array<int, 4>& descriptors,
            const SpawnOptions& options) {
  std::vector<std::string> argument_texts{command.program.string()};
  argument_texts.insert(argument_texts.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> environment_texts = command.environment;
  std::vector<char*> arguments = pointers_to(argument_texts);
  std::vector<char*> environment_pointers = pointers_to(environment_texts);
  char** const environment = command.environment.empty() ? environ : environment_pointers.data();

  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw io_error("", "pipe", errno);
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(command.program.c_str(), arguments.data(), environment, descriptors, report[1], parent,
           options.own_group);
  }
  int error = pid < 0 ? errno : 0;
  ::close(report[1]);
  if (pid > 0) {
    ssize_t got = 0;
    do got = ::read(report[0], &error, sizeof error);
    while (got < 0 && errno == EINTR);
    if (got <= 0) error = 0;  // the pipe was closed by a successful exec
  }
  ::close(report[0]);
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw IoError(
        command.program.string() + ": cannot be started: " + why_not_executed(command.program, error), error);
  }
  return pid;
}

}  // namespace peakmark
