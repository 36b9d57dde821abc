#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

namespace peakmark {

/// What was seen of one process of a recorded program.
struct SeenProcess {
  std::filesystem::path program;  ///< the file that it executes
  bool is_static = false;         ///< nothing can be loaded into it
  bool has_variables = true;      ///< its environment names the profile
  bool has_recorder = false;
  std::set<std::string> loaders;   ///< libOpenCL*, libcuda.so*: by path
  std::string other_profile = {};  ///< that its environment names instead; empty where it names none
};

/// Looks at the processes of a running program from outside, in /proc, so that it can be said why no recorder
/// came up. It sees what is there at that moment: a process that lived between two looks is not seen.
class ProgramWatch {
 public:
  /// `variable`: NAME=value that the environment of every process of the program has, unless it was cleared.
  ProgramWatch(pid_t program, std::string variable);

  /// True when a recorder and a loader were seen in one of them, by now or before: there is no need to look
  /// again.
  bool look();
  [[nodiscard]] const std::map<pid_t, SeenProcess>& seen() const { return seen_; }

 private:
  void look_at(pid_t process);

  pid_t program_;
  std::string variable_;
  std::map<pid_t, SeenProcess> seen_;
};

/// The processes that run now whose environment has `variable` (NAME=value); this one is left out.
std::set<pid_t> running_with(const std::string& variable);

}  // namespace peakmark
