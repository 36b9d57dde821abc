#pragma once

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

}  // namespace peakmark
