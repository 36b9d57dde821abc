#pragma once

#include <csignal>

namespace peakmark {

/// As long as it lives, SIGINT, SIGTERM and SIGHUP do not end the process but make `descriptor` readable, and
/// a full disk or a closed pipe is an error, not a signal. To be made before the first call into a driver:
/// the threads that it starts must inherit the mask, and PoCL installs a handler for SIGTERM.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// For poll().
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// True once a signal has come.
  [[nodiscard]] bool raised() const;

 private:
  int descriptor_ = -1;
  sigset_t before_{};
  void (*file_size_handler_)(int);
  void (*pipe_handler_)(int);
};

}  // namespace peakmark
