#include "launch/record_program.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <exception>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/program.hpp"
#include "base/text.hpp"
#include "launch/exit_watcher.hpp"
#include "launch/missing_recorder.hpp"
#include "launch/program_file.hpp"
#include "launch/program_watch.hpp"
#include "launch/stuck_program.hpp"
#include "profile/profile.hpp"
#include "profile/profile_files.hpp"
#include "profile/recording_name.hpp"
#include "profile/stop_reason.hpp"
#include "recorders/error_file.hpp"
#include "subprocess/signals.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

bool look(ProgramWatch& watch) {
  try {
    return watch.look();
  } catch (const std::exception&) {
    return false;
  }
}

/// Whether a program that was asked to end cannot. Ask it again and again.
class StuckWatch {
 public:
  using Clock = std::chrono::steady_clock;

  StuckWatch(pid_t program, const RecordRequest& request)
      : program_(program), stuck_limit_(request.stuck_limit), kill_limit_(request.kill_limit) {}

  void asked_to_end() { ++times_asked_; }

  /// True when it was asked twice, or killed, and has been stuck since, for its limit.
  bool gives_up() {
    const bool is_asked = times_asked_ >= 2;
    if (!(is_asked || is_being_killed(program_)) || !is_stuck(program_)) {
      since_.reset();
      return false;
    }
    if (!since_) since_ = Clock::now();
    return Clock::now() - *since_ >= (is_asked ? stuck_limit_ : kill_limit_);
  }

  /// How often to ask.
  [[nodiscard]] std::chrono::milliseconds interval() const {
    return std::chrono::milliseconds(times_asked_ >= 2 ? 50 : 1000);
  }

 private:
  pid_t program_;
  std::chrono::milliseconds stuck_limit_;
  std::chrono::milliseconds kill_limit_;
  int times_asked_ = 0;
  std::optional<Clock::time_point> since_;
};

/// Warns once when the profiles have become large.
class SizeWatch {
 public:
  SizeWatch(const RecordRequest& request, fs::path name) : request_(request), name_(std::move(name)) {}

  void look() {
    constexpr std::uint64_t kLarge = std::uint64_t{1} << 30U;
    if (!request_.warn || request_.max_bytes != 0 || request_.compacting != nullptr || is_warned_) return;
    if (disk_bytes_beside(name_) < kLarge) return;
    is_warned_ = true;
    request_.warn(fmt::format(
        "{}: the profile has 1 GiB and grows by 128 bytes for each allocation with its release; --compact "
        "keeps it small, --max-size limits it",
        name_.string()));
  }

 private:
  const RecordRequest& request_;
  fs::path name_;
  bool is_warned_ = false;
};

/// Waits for its end; the exit code is as a shell gives it. Until a recorder is seen in one of its processes
/// they are looked at, at first often: should none ever come up, what was seen says why. Nothing that goes
/// wrong with that may leave the program without the one who waits for it.
void wait_for(pid_t program, const SignalForwarder& signals, ProgramWatch& watch, StuckWatch stuck,
              SizeWatch size, Recording& recording) {
  using std::chrono::milliseconds;
  milliseconds interval(1);
  bool is_seen = false;
  while (true) {
    const siginfo_t info = signals.wait(interval);
    if (info.si_signo == 0) {
      is_seen = is_seen || look(watch);
      interval = is_seen ? stuck.interval() : std::min({2 * interval, milliseconds(250), stuck.interval()});
      if (is_seen) size.look();
      if (!stuck.gives_up()) continue;
      recording.program_code = 128 + (recording.interrupted ? SIGINT : SIGKILL);
      recording.trouble = fmt::format(
          "process {} cannot be ended: it hangs inside its driver, or a debugger holds it; the profile has "
          "what it had recorded",
          program);
      return;
    }
    if (info.si_signo == SIGCHLD) {
      int status = 0;
      if (waitpid(program, &status, WNOHANG) != program) continue;
      if (WIFSIGNALED(status)) recording.signal = WTERMSIG(status);
      recording.program_code = WIFSIGNALED(status) ? 128 + recording.signal : WEXITSTATUS(status);
      if (WIFSIGNALED(status) || WIFEXITED(status)) return;
    } else {
      if (tells_to_end(info.si_signo)) {
        recording.interrupted = true;
        stuck.asked_to_end();
        interval = std::min(interval, stuck.interval());
      }
      pass_on(info, program);
    }
  }
}

std::string why_not_started(const std::vector<std::string>& environment, const std::string& program,
                            int error) {
  const std::string trouble = program_failure(environment, program);
  if (trouble.empty()) {
    const fs::path file = find_program(environment, program).value_or(program);
    return fmt::format("{}: cannot be started: {}", program, exec_failure(file, error));
  }
  // A shell would run it itself; it has no line that says by what.
  if (error == ENOEXEC) {
    return fmt::format(
        "{0}: is no program that the system can start: a script begins with a line such as #!/bin/sh, or is "
        "given to its interpreter: -- sh {0}",
        program);
  }
  return fmt::format("{}: {}", program, trouble);
}

/// Those that were not there before.
std::vector<fs::path> unwritten_since(const std::vector<fs::path>& before, const fs::path& name) {
  std::vector<fs::path> unwritten = unwritten_beside(name);
  std::erase_if(unwritten, [&](const fs::path& file) { return std::ranges::count(before, file) != 0; });
  return unwritten;
}

/// Gives the program's own profile its name; sorts the others.
void name_profiles(const fs::path& name, pid_t program, Recording& recording) {
  std::vector<fs::path> files = profiles_beside(name);
  if (files.empty()) return;
  const auto own =
      std::find(files.begin(), files.end(), fs::path(fmt::format("{}.{}", name.string(), program)));
  const auto first =
      own != files.end()
          ? own
          : std::min_element(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) {
              return ProfileReader(a).header().start_monotonic_ns <
                     ProfileReader(b).header().start_monotonic_ns;
            });
  fs::rename(*first, name);
  files.erase(first);
  recording.profile = name;
  recording.others = std::move(files);
}

/// What a recorder has begun to write and is not there; empty where nothing is missing.
std::string what_was_lost(const fs::path& name, const RecordingName& taken,
                          const std::vector<fs::path>& removed, const std::vector<fs::path>& unwritten,
                          const ErrorFile& troubles) {
  if (taken.has_lost_its_folder()) {
    return fmt::format(
        "{}: the folder was removed or renamed while the program ran, and what was recorded went with it; "
        "name a file elsewhere with -o",
        name.parent_path().string());
  }
  if (!removed.empty()) {
    return fmt::format(
        "{}: the profile was removed while the program ran, and what was recorded with it; record it again",
        removed.front().string());
  }
  if (unwritten.empty()) return "";
  const std::string why = troubles.why_stopped();
  return fmt::format("{}: the recorder came up and could not write its profile: {}",
                     unwritten.front().string(), why.empty() ? "its process ended before it could" : why);
}

/// Of a profile that ends before its program; empty where it does not.
std::string what_was_cut_off(const fs::path& name) {
  const ProfileHeader header = ProfileReader(name).header();
  if (header.lost == 0) return "";
  return fmt::format("{}: the recording stopped early, {} lost: {}; {}", name.string(),
                     quantity(header.lost, "event is", "events are"), stop_reason(header.stop_error),
                     stop_advice(header.stop_error));
}

}  // namespace

Recording record_program(const RecordRequest& request, const RecorderLibraries& libraries) {
  if (request.command.empty()) throw UsageError("record: name the program to run, after --");
  const fs::path name = fs::absolute(request.profile);
  const RecordingName taken(name);
  remove_earlier_recording(name);
  const std::vector<fs::path> before = unwritten_beside(name);

  std::vector<std::string> environment = current_environment();
  const ErrorFile troubles(name);
  add_recorders(environment, libraries, name, request.sync, request.stacks);
  add_ranges(environment, libraries);
  add_python_module(environment);
  if (request.max_bytes != 0)
    set_variable(environment, "PEAKMARK_MAX_BYTES", std::to_string(request.max_bytes));
  set_variable(environment, "PEAKMARK_ERROR_FILE", troubles.path().string());
  if (request.compacting != nullptr) set_variable(environment, "PEAKMARK_COMPACT", "1");
  set_variable(environment, "PEAKMARK_RECORDING", taken.write_id());
  std::vector<std::string> command = request.command;

  Recording recording;
  const SignalForwarder signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &signals.before());
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  if (request.output_to_stderr) posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  ExitWatcher ends(name);
  const std::string variable = "PEAKMARK_PROFILE=" + name.string();
  const std::vector<char*> words = exec_pointers(command);
  const std::vector<char*> variables = exec_pointers(environment);
  pid_t program = -1;
  const int error =
      posix_spawnp(&program, command[0].c_str(), &files, &attributes, words.data(), variables.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    recording.program_code = error == ENOENT ? 127 : 126;
    recording.trouble = why_not_started(environment, command[0], error);
    return recording;
  }
  if (request.compacting != nullptr) request.compacting->begin(name);
  ProgramWatch watch(program, variable);
  wait_for(program, signals, watch, {program, request}, {request, name}, recording);
  ends.stop();
  if (request.compacting != nullptr) request.compacting->end();
  const std::vector<fs::path> unwritten = unwritten_since(before, name);
  if (recording.trouble.empty())
    recording.trouble = what_was_lost(name, taken, ends.removed(), unwritten, troubles);
  for (const fs::path& file : unwritten) fs::remove(file);
  name_profiles(name, program, recording);
  if (recording.trouble.empty() && !recording.profile) {
    recording.trouble = troubles.first_line();
    const auto file = find_program(environment, request.command[0]);
    if (recording.trouble.empty())
      recording.trouble = why_no_recorder({libraries, file && is_static_program(*file) ? file : std::nullopt,
                                           watch.seen(), running_with(variable), recording.program_code,
                                           script_that_imports_peakmark(request.command)});
  }
  if (recording.trouble.empty()) recording.trouble = what_was_cut_off(name);
  if (recording.trouble.empty()) recording.trouble = troubles.first_line();
  recording.interrupted = signals.forget() || recording.interrupted;
  return recording;
}

}  // namespace peakmark
