#include "launch/stuck_program.hpp"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "subprocess/processes.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

fs::path proc_folder(pid_t process) {
  return fs::path("/proc") / std::to_string(process);
}

/// The letter behind the name of a process or thread; 0 where it is not there any more.
char state_in(const fs::path& folder) {
  const std::string stat = read_proc_file(folder / "stat").value_or("");
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
}

/// A hexadecimal mask of /proc/PID/status.
std::uint64_t mask_in(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  return std::strtoull(std::string(status.substr(at + name.size(), 32)).c_str(), nullptr, 16);
}

/// True for any of its threads.
template <typename Predicate>
bool any_thread(pid_t process, Predicate is_so) {
  std::error_code error;
  for (fs::directory_iterator thread(proc_folder(process) / "task", error), end; !error && thread != end;
       thread.increment(error)) {
    if (is_so(thread->path())) return true;
  }
  return false;
}

/// It has ended, and somebody else than its parent must take notice first. A main thread that has ended
/// before others (pthread_exit) looks so too.
bool is_dead(pid_t process) {
  return state_in(proc_folder(process)) == 'Z' &&
         !any_thread(process, [](const fs::path& thread) { return state_in(thread) != 'Z'; });
}

}  // namespace

bool is_stuck(pid_t process) {
  return is_dead(process) || any_thread(process, [](const fs::path& thread) {
           const char state = state_in(thread);
           return state == 'D' || state == 't';
         });
}

bool is_being_killed(pid_t process) {
  return is_dead(process) || any_thread(process, [](const fs::path& thread) {
           const std::string status = read_proc_file(thread / "status").value_or("");
           const std::uint64_t pending = mask_in(status, "\nSigPnd:") | mask_in(status, "\nShdPnd:");
           return (pending >> (SIGKILL - 1) & 1U) != 0;
         });
}

}  // namespace peakmark
