#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace peakmark {

/// Observations of one process of a recorded program.
struct SeenProcess {
  std::filesystem::path program;  ///< the file that it executes
  bool is_static = false;         ///< linked statically: no recorder can be loaded
  bool has_variables = true;      ///< its environment has the recording's PEAKMARK_PROFILE
  bool has_recorder = false;
  std::set<std::string> loaders;       ///< paths of libraries with an OpenCL loader, and of libcuda.so*
  std::string other_profile = {};      ///< a different PEAKMARK_PROFILE in its environment; empty: none
  std::set<std::string> drivers = {};  ///< paths of OpenCL drivers
  std::set<std::string> files = {};    ///< all mapped files
};

/// Inspects the processes of a running program in /proc, to explain later why no recorder was loaded.
/// Processes that start and end between two scans are not seen.
class ProgramWatch {
 public:
  /// `variable`: a NAME=value that every process of the program has in its environment, unless the
  /// environment was cleared.
  ProgramWatch(pid_t program, std::string variable);

  /// Returns true if a recorder and a loader have been seen in one process: no further scan is needed.
  bool scan();
  [[nodiscard]] const std::map<pid_t, SeenProcess>& seen() const { return seen_; }

 private:
  enum class Role : std::uint8_t { other, loader, driver };

  void scan_process(pid_t process);
  void note_libraries(const std::string& maps, SeenProcess& seen);
  Role role(const std::string& path);

  pid_t program_;
  std::string variable_;
  std::map<pid_t, SeenProcess> seen_;
  std::map<std::string, Role> roles_;  ///< by path: each file is read once
};

/// Returns the running processes that have `variable` (NAME=value) in their environment, except this one.
std::set<pid_t> processes_with(const std::string& variable);

/// Returns true for an ELF program without PT_INTERP: it has no dynamic loader, so no recorder can be loaded
/// into it. Returns false for any other file, such as a script, and for unreadable files.
bool is_static_program(const std::filesystem::path& file);

/// Returns true while no signal can end the process: one of its threads is in uninterruptible sleep, for
/// example inside a driver, or stopped by a debugger. A short wait for a disk looks the same, so check
/// repeatedly. Call it for a child that waitpid() does not return.
bool is_stuck(pid_t process);

/// Returns true if the process was killed (SIGKILL) and has not ended.
bool is_being_killed(pid_t process);

}  // namespace peakmark
