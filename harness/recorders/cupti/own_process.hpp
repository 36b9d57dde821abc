#pragma once

#include <sys/types.h>

namespace peakmark {

/// Tells a forked child from the process that made this object, also where the child was made without
/// fork handlers (_Fork, clone). Costs a read of memory where the kernel can empty a page for children, and a
/// system call elsewhere. Never destroyed with the process's last threads: keep it in static storage or leak
/// it.
class OwnProcess {
 public:
  OwnProcess();
  OwnProcess(const OwnProcess&) = delete;
  OwnProcess& operator=(const OwnProcess&) = delete;
  ~OwnProcess();

  /// True in the process that made this object.
  [[nodiscard]] bool is_here() const;

 private:
  pid_t pid_;
  volatile int* mark_;  // 1 here, 0 in a child; null: the kernel does not empty pages
};

}  // namespace peakmark
