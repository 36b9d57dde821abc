#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
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

/// From now on processes that our descendants leave behind are children of this process, whatever group or
/// session they have put themselves into.
void adopt_orphans();

/// Kills the children of this process, and theirs, until there are none: to be called when nobody runs any
/// more who ought to. `but`: a child that stays. Returns those that have not ended after `limit`: they are
/// given up (child_end.hpp), and later calls leave them out.
std::vector<pid_t> end_orphans(pid_t but = -1, std::chrono::milliseconds limit = kKillLimit);

/// Kills every process, this one left out, that has begun with NAME=value in its environment where the value
/// begins with `value`: descendants of a process that is dead already.
void end_processes_with(const std::string& name, const std::string& value);

/// The whole of a file of /proc/PID; nothing where it cannot be opened or read. A process may end between the
/// two: then the read fails with ESRCH, which is no fault of ours.
std::optional<std::string> read_proc_file(const std::filesystem::path& path);

/// Of a process, whichever of its threads started or adopted them.
std::vector<pid_t> children_of(pid_t process);

/// Each process but this one whose environment can be read, with it: NAME=value, each ended by NUL.
void for_each_environment(const std::function<void(pid_t process, const std::string& environment)>& use);

}  // namespace peakmark
