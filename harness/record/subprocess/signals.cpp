#include "record/subprocess/signals.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace peakmark {

namespace {

// With a terminal and a wrapper that forwards signals, one Ctrl-C arrives twice.
constexpr std::chrono::seconds kOneKeyPress{1};

constexpr std::string_view kSecond =
    "\npeakmark: interrupted twice: ends at once; the results so far are in the partial file, and --resume "
    "continues it\n";

sigset_t watched_signals() {
  sigset_t set{};
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

/// Returns true for signals that a terminal sends to the whole group.
bool is_of_a_terminal(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP || signal == SIGWINCH;
}

/// Returns true for signals that this process caused itself.
bool is_our_own(int signal) {
  return signal == SIGPIPE || signal == SIGXFSZ || signal == SIGURG;
}

}  // namespace

SignalWatch::SignalWatch() : SignalWatch(watched_signals()) {}

SignalWatch::SignalWatch(const sigset_t& watched)
    : signals_(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK)),
      raised_(::eventfd(0, EFD_CLOEXEC)),
      stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (signals_.get() < 0 || raised_.get() < 0 || stop_.get() < 0) {
    throw io_error("", "signals cannot be watched", errno);
  }
  file_size_handler_ = std::signal(SIGXFSZ, SIG_IGN);
  pipe_handler_ = std::signal(SIGPIPE, SIG_IGN);
  ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
  thread_ = std::thread([this] { watch(); });
}

SignalWatch::~SignalWatch() {
  ::eventfd_write(stop_.get(), 1);
  thread_.join();
  // A signal that is still pending would end the process when the mask is restored.
  signalfd_siginfo pending{};
  while (::read(signals_.get(), &pending, sizeof pending) > 0) {
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  std::signal(SIGXFSZ, file_size_handler_);
  std::signal(SIGPIPE, pipe_handler_);
}

void SignalWatch::watch() const {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> first;
  for (;;) {
    std::array<pollfd, 2> watched{{{signals_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[1].revents != 0) return;
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof signal) != sizeof signal) continue;
    if (!first) {
      first = Clock::now();
      ::eventfd_write(raised_.get(), 1);
    } else if (signal.ssi_signo != SIGHUP && Clock::now() - *first >= kOneKeyPress) {
      // The first signal had no effect: this process may hang in a driver. The workers are killed with it.
      [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kSecond.data(), kSecond.size());
      ::_exit(static_cast<int>(ExitCode::interrupted));
    }
  }
}

bool SignalWatch::raised() const {
  pollfd watched{raised_.get(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

SignalForwarder::SignalForwarder() {
  // The parent process may have set SIGCHLD to be ignored; then no child could be waited for.
  std::signal(SIGCHLD, SIG_DFL);
}

SignalForwarder::~SignalForwarder() {
  forget();
}

siginfo_t SignalForwarder::wait(std::optional<std::chrono::milliseconds> limit) const {
  siginfo_t info{};
  if (limit) {
    const timespec time{limit->count() / 1000, limit->count() % 1000 * 1'000'000};
    if (sigtimedwait(&signals_.blocked(), &info, &time) < 0) info.si_signo = 0;
  } else {
    while (sigwaitinfo(&signals_.blocked(), &info) < 0) {
    }
  }
  return info;
}

bool SignalForwarder::forget() const {
  bool to_end = false;
  siginfo_t info{};
  const timespec at_once{};
  while (sigtimedwait(&signals_.blocked(), &info, &at_once) > 0)
    to_end = to_end || ends_process(info.si_signo);
  return to_end;
}

bool ends_process(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

void pass_on(const siginfo_t& info, pid_t program) {
  const bool from_the_system = info.si_code == SI_KERNEL;
  if (from_the_system && (is_of_a_terminal(info.si_signo) || is_our_own(info.si_signo))) return;
  if (info.si_code == SI_QUEUE) {
    sigqueue(program, info.si_signo, info.si_value);
  } else {
    kill(program, info.si_signo);
  }
}

}  // namespace peakmark
