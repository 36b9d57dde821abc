#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>

namespace peakmark {

/// While it exists, this thread receives no signal that can be blocked, except those that stop and continue a
/// process (Ctrl-Z). Threads that are started meanwhile inherit this until they change their masks. Pending
/// signals are delivered at the end. Use it around calls that start threads, such as those of drivers: the
/// system delivers a signal to any thread that does not block it.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigfillset(&blocked_);
    for (const int signal : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT})
      sigdelset(&blocked_, signal);
    pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] const sigset_t& blocked() const { return blocked_; }
  /// Returns the earlier signal mask.
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t blocked_{};
  sigset_t before_{};
};

}  // namespace peakmark
