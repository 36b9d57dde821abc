#include "base/blocked_signals.hpp"

#include <pthread.h>

#include <initializer_list>

namespace peakmark {

BlockedSignals::BlockedSignals() {
  sigfillset(&blocked_);
  for (const int signal : {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT})
    sigdelset(&blocked_, signal);
  pthread_sigmask(SIG_BLOCK, &blocked_, &before_);
}

BlockedSignals::~BlockedSignals() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace peakmark
