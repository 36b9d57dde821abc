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
  /// Returns `exit code 3` or `signal SIGSEGV (Segmentation fault)`.
  [[nodiscard]] std::string text() const;
};

/// How long to wait for the end of a process after SIGKILL. Only a process that hangs inside a driver takes
/// longer.
inline constexpr std::chrono::milliseconds kKillLimit{20'000};

/// Detects the end of a child of this process. Never blocks in waitpid(): a child that hangs inside a driver,
/// or is stopped by a debugger, would block it for ever.
class ChildWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// If the system has no descriptor for the process (none left, or an old kernel), the child is polled every
  /// 20 ms.
  explicit ChildWatch(pid_t child);
  ~ChildWatch();
  ChildWatch(const ChildWatch&) = delete;
  ChildWatch& operator=(const ChildWatch&) = delete;

  /// Returns a descriptor for poll(), readable at the end; negative, which poll() ignores, if there is none.
  [[nodiscard]] int descriptor() const { return descriptor_; }
  /// Returns how long to poll, at most `milliseconds` (−1: for ever), before calling has_ended() again.
  [[nodiscard]] int poll_limit(int milliseconds) const;
  /// Returns true if reap() would succeed at once.
  [[nodiscard]] bool has_ended();
  /// Waits for the end. Returns false after `until`.
  [[nodiscard]] bool wait_until(Clock::time_point until);
  /// Returns how the child ended; null if it has not.
  std::optional<WorkerEnd> reap();

 private:
  pid_t child_;
  int descriptor_ = -1;
};

/// Gives up a child that did not end within kKillLimit after SIGKILL: nothing waits for it again.
void give_up_child(pid_t child);
/// Returns the message about a child that was given up: `process 123 cannot be killed: …`.
[[nodiscard]] std::string given_up_text(pid_t child);
/// Returns the children that were given up and still have not ended. Reaps the others.
[[nodiscard]] const std::vector<pid_t>& given_up_children();

/// Makes this process the parent of all processes that its descendants leave behind, also in other groups and
/// sessions.
void adopt_orphans();

/// Kills all descendants of this process. Call it when no child should be running. `but`: a child to keep.
/// Children that have not ended after `limit` are given up: they are returned, and later calls ignore them.
std::vector<pid_t> end_orphans(pid_t but = -1, std::chrono::milliseconds limit = kKillLimit);

/// Kills every other process that was started with a variable `name` whose value begins with `value`:
/// descendants of a process that has already ended.
void end_processes_with(const std::string& name, const std::string& value);

/// Returns the content of a file in /proc/PID; null if it cannot be opened or read, for example because the
/// process has ended meanwhile (ESRCH).
std::optional<std::string> read_proc_file(const std::filesystem::path& path);

/// Returns the children of a process, started or adopted by any of its threads.
std::vector<pid_t> children_of(pid_t process);

/// Calls `use` for each other process whose environment can be read. `environment`: NAME=value entries, each
/// ended by NUL.
void for_each_environment(const std::function<void(pid_t process, const std::string& environment)>& use);

/// Adopts the orphans of children. The destructor kills them, also in other sessions.
class OrphanGuard {
 public:
  OrphanGuard() { adopt_orphans(); }
  OrphanGuard(const OrphanGuard&) = delete;
  OrphanGuard& operator=(const OrphanGuard&) = delete;
  ~OrphanGuard() { end_orphans(); }
};

}  // namespace peakmark
