#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace peakmark {

/// How a process ended.
struct WorkerEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  /// `exit code 3`, `signal SIGSEGV (Segmentation fault)`
  [[nodiscard]] std::string text() const;
};

/// How long to wait for the end of a process after SIGKILL. Only one that hangs inside a driver takes longer.
inline constexpr std::chrono::milliseconds kKillLimit{20'000};

/// Watches a child of this process for its end. Nothing here blocks in waitpid(): a child that hangs inside a
/// driver, or that a debugger holds, would block it for ever.
class ChildWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// Where the system gives no descriptor of the process (none left, or an old kernel), the child is asked
  /// for its end every 20 ms.
  explicit ChildWatch(pid_t child);
  ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

  /// For poll(): readable at the end. Negative, which poll() ignores, where there is none.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// How long to poll when `milliseconds` are wanted (−1: for ever) before has_ended() is asked again.
  [[nodiscard]] int poll_limit(int milliseconds) const;
  /// True when reap() would succeed at once.
  [[nodiscard]] bool has_ended();
  /// has_ended(), or false after `until`.
  [[nodiscard]] bool wait_until(Clock::time_point until);
  /// How the child ended. Null when it has not.
  std::optional<WorkerEnd> reap();

 private:
  pid_t child_;
  int descriptor_ = -1;
};

/// Children of this process that did not end within kKillLimit after SIGKILL are given up: nobody waits for
/// them again. What to say of one: `process 123 cannot be killed: …`.
void give_up_child(pid_t child);
[[nodiscard]] std::string given_up_text(pid_t child);
/// Those given up that still have not ended; the others are reaped.
[[nodiscard]] const std::vector<pid_t>& given_up_children();

}  // namespace peakmark
