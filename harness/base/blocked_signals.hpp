#pragma once

#include <csignal>

namespace peakmark {

/// While it exists, this thread gets no signal that can be blocked, except those that stop and continue
/// (Ctrl-Z), and neither do the threads that are started meanwhile, until they change their masks. Pending
/// signals are delivered at the end. Use it around calls that start threads, such as those of drivers: the
/// system gives a signal to any thread that does not block it.
class BlockedSignals {
 public:
  BlockedSignals();
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals();

  [[nodiscard]] const sigset_t& blocked() const { return blocked_; }
  /// Returns the signal mask from before.
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t blocked_{};
  sigset_t before_{};
};

}  // namespace peakmark
