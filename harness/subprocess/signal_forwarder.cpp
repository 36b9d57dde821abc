#include "subprocess/signal_forwarder.hpp"

namespace peakmark {
namespace {

/// From a terminal they reach the whole group.
bool is_of_a_terminal(int signal) {
  return signal == SIGINT || signal == SIGQUIT || signal == SIGHUP || signal == SIGWINCH;
}

/// What this process itself did, not what somebody wants of it.
bool is_our_own(int signal) {
  return signal == SIGPIPE || signal == SIGXFSZ || signal == SIGURG;
}

}  // namespace

SignalForwarder::SignalForwarder() {
  sigfillset(&set_);
  for (const int signal : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT}) sigdelset(&set_, signal);
  // Whoever started us may have it ignored, and then no child can be waited for.
  std::signal(SIGCHLD, SIG_DFL);
  pthread_sigmask(SIG_BLOCK, &set_, &before_);
}

SignalForwarder::~SignalForwarder() {
  forget();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

siginfo_t SignalForwarder::wait(std::optional<std::chrono::milliseconds> limit) const {
  siginfo_t info{};
  if (limit) {
    const timespec time{limit->count() / 1000, limit->count() % 1000 * 1'000'000};
    if (sigtimedwait(&set_, &info, &time) < 0) info.si_signo = 0;
  } else {
    while (sigwaitinfo(&set_, &info) < 0) {
    }
  }
  return info;
}

bool SignalForwarder::forget() const {
  bool to_end = false;
  siginfo_t info{};
  const timespec at_once{};
  while (sigtimedwait(&set_, &info, &at_once) > 0) to_end = to_end || tells_to_end(info.si_signo);
  return to_end;
}

bool tells_to_end(int signal) {
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
