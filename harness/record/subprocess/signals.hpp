#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "base/blocked_signals.hpp"
#include "base/descriptor.hpp"

namespace peakmark {

/// While it exists, SIGINT, SIGTERM and SIGHUP make `descriptor` readable instead of ending the process, and
/// a full disk or a closed pipe is an error instead of a signal. Another SIGINT or SIGTERM, at least a second
/// after the first, ends the process at once with exit code 130. All other threads must block these signals;
/// list_devices() and open_device() ensure that for threads of drivers.
class SignalWatch {
 public:
  /// Throws Error if the system has no descriptors left; signals are then handled as before.
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Returns a descriptor for poll(), readable once a signal has arrived.
  [[nodiscard]] int descriptor() const { return raised_.get(); }
  /// Returns true once a signal has arrived.
  [[nodiscard]] bool raised() const;

 private:
  explicit SignalWatch(const sigset_t& watched);
  void watch() const;

  Descriptor signals_;  // signalfd
  Descriptor raised_;   // eventfd
  Descriptor stop_;     // eventfd
  sigset_t before_{};
  void (*file_size_handler_)(int) = nullptr;
  void (*pipe_handler_)(int) = nullptr;
  std::thread thread_;
};

/// While it exists, signals that can be blocked do not end this process, which waits for a program and
/// forwards them to it. Signals that stop and continue a process (Ctrl-Z) work as usual.
class SignalForwarder {
 public:
  SignalForwarder();
  SignalForwarder(const SignalForwarder&) = delete;
  SignalForwarder& operator=(const SignalForwarder&) = delete;
  ~SignalForwarder();

  /// Returns the earlier signal mask, for the program.
  [[nodiscard]] const sigset_t& before() const { return signals_.before(); }

  /// Returns the next signal; si_signo is 0 if none arrived in time. SIGCHLD may be missing, because another
  /// thread of this process can have received it.
  [[nodiscard]] siginfo_t wait(std::optional<std::chrono::milliseconds> limit) const;

  /// Discards pending signals, after the program has ended. Returns true if one of them asks a process to
  /// end.
  bool forget() const;

 private:
  BlockedSignals signals_;
};

/// Returns true for signals by which users and terminals ask a process to end.
bool ends_process(int signal);

/// Slurm, systemd and terminals send such a signal to every process of a job, in any order. If it ended a
/// child, its parent waits this long for the same signal before it reports a crash.
inline constexpr std::chrono::milliseconds kSignalOfAJob{2000};

/// Forwards a signal to the program, with its value. Ignores signals that the program has already received
/// (Ctrl-C in a terminal) and those that concern only this process.
void pass_on(const siginfo_t& info, pid_t program);

}  // namespace peakmark
