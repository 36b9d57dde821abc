#pragma once

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "base/descriptor.hpp"

namespace peakmark {

/// As long as it lives, SIGINT, SIGTERM and SIGHUP do not end the process but make `descriptor` readable, and
/// a full disk or a closed pipe is an error, not a signal. A further SIGINT or SIGTERM, a second or more
/// after the first, ends the process at once with exit code 130. To be made before the first call into a
/// driver: the threads that it starts must inherit the mask, and PoCL installs a handler for SIGTERM.
class SignalWatch {
 public:
  /// Throws Error if the system gives no descriptor; then signals are handled as before.
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// For poll().
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

/// As long as it lives, no signal that can be held back ends this process: whoever waits for a program passes
/// them on to it. What stops and continues (Ctrl-Z) stays as it is.
class SignalForwarder {
 public:
  SignalForwarder();
  SignalForwarder(const SignalForwarder&) = delete;
  SignalForwarder& operator=(const SignalForwarder&) = delete;
  ~SignalForwarder();

  /// The mask of before, for the program.
  [[nodiscard]] const sigset_t& before() const { return before_; }

  /// The next one; si_signo is 0 where none came in that time.
  [[nodiscard]] siginfo_t wait(std::optional<std::chrono::milliseconds> limit) const;

  /// Forgets those that have come and that nobody waits for any more: the program has ended. True where one
  /// of them tells to end.
  bool forget() const;

 private:
  sigset_t set_{};
  sigset_t before_{};
};

/// Whether a signal tells a process to end, as users and terminals do.
bool tells_to_end(int signal);

/// Passes a signal that this process got on to the program, with the value that came with it; not those that
/// the program got itself (Ctrl-C of a terminal), or that tell of this process alone.
void pass_on(const siginfo_t& info, pid_t program);

}  // namespace peakmark
