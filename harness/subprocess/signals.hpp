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
/// after the first, ends the process at once with exit code 130. No other thread may take these signals:
/// list_devices() and open_device() see to those of drivers.
class SignalWatch {
 public:
  /// Throws Error if the system has no descriptors left; signals are then handled as before.
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Returns a descriptor for poll(), readable once a signal has come.
  [[nodiscard]] int descriptor() const { return raised_.get(); }
  /// True once a signal has come.
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
/// forwards them to it. Signals that stop and continue (Ctrl-Z) work as usual.
class SignalForwarder {
 public:
  SignalForwarder();
  SignalForwarder(const SignalForwarder&) = delete;
  SignalForwarder& operator=(const SignalForwarder&) = delete;
  ~SignalForwarder();

  /// Returns the signal mask from before, for the program.
  [[nodiscard]] const sigset_t& before() const { return signals_.before(); }

  /// Returns the next signal; si_signo is 0 if none came in time. SIGCHLD may be missing: another thread of
  /// this process can have taken it.
  [[nodiscard]] siginfo_t wait(std::optional<std::chrono::milliseconds> limit) const;

  /// Discards pending signals, once the program has ended. Returns true if one of them asks a process to end.
  bool forget() const;

 private:
  BlockedSignals signals_;
};

/// Returns true for signals by which users and terminals ask a process to end.
bool ends_process(int signal);

/// Slurm, systemd and terminals send such a signal to every process of a job, in any order. A process whose
/// child was ended by one waits this long for its own before it calls that a crash.
inline constexpr std::chrono::milliseconds kSignalOfAJob{2000};

/// Forwards a signal to the program, with its value. Leaves out signals that the program got itself (Ctrl-C
/// in a terminal) and those that concern this process only.
void pass_on(const siginfo_t& info, pid_t program);

}  // namespace peakmark
