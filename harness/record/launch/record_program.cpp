#include "record/launch/record_program.hpp"

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
#include "record/launch/exit_watcher.hpp"
#include "record/launch/missing_recorder.hpp"
#include "record/launch/profile_folding.hpp"
#include "record/launch/program_watch.hpp"
#include "record/profile/profile.hpp"
#include "record/profile/profile_files.hpp"
#include "record/recorders/error_file.hpp"
#include "record/subprocess/signals.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

bool scan(ProgramWatch& watch) {
  try {
    return watch.scan();
  } catch (const std::exception&) {
    return false;
  }
}

/// Detects that a program cannot end although it was requested to. Must be polled.
class StuckWatch {
 public:
  using Clock = std::chrono::steady_clock;

  StuckWatch(pid_t program, const RecordRequest& request)
      : program_(program), stuck_limit_(request.stuck_limit), kill_limit_(request.kill_limit) {}

  void asked_to_end() { ++times_asked_; }

  /// Returns true if the program was requested to end twice, or was killed, and has been stuck for the limit
  /// since.
  bool gives_up() {
    const bool is_asked = times_asked_ >= 2;
    if (!(is_asked || is_being_killed(program_)) || !is_stuck(program_)) {
      since_.reset();
      return false;
    }
    if (!since_) since_ = Clock::now();
    return Clock::now() - *since_ >= (is_asked ? stuck_limit_ : kill_limit_);
  }

  /// Returns how often to poll.
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

/// Warns once if the profiles become large.
class SizeWatch {
 public:
  SizeWatch(const RecordRequest& request, fs::path name) : request_(request), name_(std::move(name)) {}

  void scan() {
    constexpr std::uint64_t kLarge = std::uint64_t{1} << 30U;
    if (!request_.warn || request_.max_bytes != 0 || request_.compact || is_warned_) return;
    if (disk_bytes_beside(name_) < kLarge) return;
    is_warned_ = true;
    request_.warn(
        fmt::format("{}: the profile has 1 GiB and grows by 128 bytes for each allocation with its release; "
                    "use --compact to keep it small, or --max-size to limit it",
                    name_.string()));
  }

 private:
  const RecordRequest& request_;
  fs::path name_;
  bool is_warned_ = false;
};

/// Waits for the program's end, and sets the exit code as a shell does. Scans its processes, at first often,
/// until one has a recorder: if none is ever loaded, the scans explain why. A failed scan must not stop the
/// wait.
void wait_for(pid_t program, const SignalForwarder& signals, ProgramWatch& watch, StuckWatch stuck,
              SizeWatch size, Recording& recording) {
  using std::chrono::milliseconds;
  milliseconds interval(1);
  bool is_seen = false;
  while (true) {
    const siginfo_t info = signals.wait(interval);
    int status = 0;
    if (waitpid(program, &status, WNOHANG) == program && (WIFSIGNALED(status) || WIFEXITED(status))) {
      if (WIFSIGNALED(status)) recording.signal = WTERMSIG(status);
      recording.program_code = WIFSIGNALED(status) ? 128 + recording.signal : WEXITSTATUS(status);
      if (ends_process(info.si_signo)) recording.interrupted = true;
      return;
    }
    if (info.si_signo == 0) {
      is_seen = is_seen || scan(watch);
      interval = is_seen ? stuck.interval() : std::min({2 * interval, milliseconds(250), stuck.interval()});
      if (is_seen) size.scan();
      if (!stuck.gives_up()) continue;
      recording.program_code = 128 + (recording.interrupted ? SIGINT : SIGKILL);
      recording.error = fmt::format(
          "process {} cannot be ended: it hangs inside its driver, or a debugger stopped it; the profile has "
          "the events up to now",
          program);
      return;
    }
    if (info.si_signo == SIGCHLD) continue;
    if (ends_process(info.si_signo)) {
      recording.interrupted = true;
      stuck.asked_to_end();
      interval = std::min(interval, stuck.interval());
    }
    pass_on(info, program);
  }
}

std::string start_error(const std::vector<std::string>& environment, const std::string& program, int error) {
  const std::string failure = program_failure(environment, program);
  if (failure.empty()) {
    const fs::path file = find_program(environment, program).value_or(program);
    return fmt::format("{}: cannot be started: {}", program, exec_failure(file, error));
  }
  // A shell would interpret the file itself, because it has no #! line.
  if (error == ENOEXEC) {
    return fmt::format(
        "{0}: the system cannot start this file: begin the script with a line such as #!/bin/sh, or pass it "
        "to its interpreter: -- sh {0}",
        program);
  }
  return fmt::format("{}: {}", program, failure);
}

/// Returns the unwritten profiles that did not exist before.
std::vector<fs::path> unwritten_since(const std::vector<fs::path>& before, const fs::path& name) {
  std::vector<fs::path> unwritten = unwritten_beside(name);
  std::erase_if(unwritten, [&](const fs::path& file) { return std::ranges::count(before, file) != 0; });
  return unwritten;
}

/// Renames the program's own profile to `name`, and sorts the others.
void name_profiles(const fs::path& name, pid_t program, Recording& recording) {
  std::vector<fs::path> files = profiles_beside(name);
  if (files.empty()) return;
  const fs::path own = program_profile(name, program).value();
  fs::rename(own, name);
  std::erase(files, own);
  recording.profile = name;
  recording.others = std::move(files);
}

/// Returns why a profile that was begun is missing; empty if none is.
std::string lost_recording(const fs::path& name, const RecordingName& taken,
                           const std::vector<fs::path>& removed, const std::vector<fs::path>& unwritten,
                           const ErrorFile& errors) {
  if (taken.has_lost_its_folder()) {
    return fmt::format(
        "{}: the folder was removed or renamed while the program ran, and the profile with it; name a file "
        "in another folder with -o",
        name.parent_path().string());
  }
  if (!removed.empty()) {
    return fmt::format("{}: the profile was removed while the program ran; record it again",
                       removed.front().string());
  }
  if (unwritten.empty()) return "";
  const std::string why = errors.why_stopped();
  return fmt::format("{}: the recorder could not write its profile: {}", unwritten.front().string(),
                     why.empty() ? "its process ended too early" : why);
}

/// Returns why a profile ends before its program; empty if it does not.
std::string incomplete_recording(const fs::path& name) {
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
  const ErrorFile errors(name);
  add_recorders(environment, libraries, name, request.sync, request.stacks);
  add_ranges(environment, libraries);
  add_python_module(environment);
  if (request.max_bytes != 0)
    set_variable(environment, "PEAKMARK_MAX_BYTES", std::to_string(request.max_bytes));
  set_limits(environment, request.limits);
  if (request.repeat_call != 0)
    set_variable(environment, "PEAKMARK_REPEAT_CALL", std::to_string(request.repeat_call));
  if (request.refuses_at_use) set_variable(environment, "PEAKMARK_REFUSE_AT_USE", "1");
  set_variable(environment, "PEAKMARK_ERROR_FILE", errors.path().string());
  if (request.compact) set_variable(environment, "PEAKMARK_COMPACT", "1");
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
    recording.error = start_error(environment, command[0], error);
    return recording;
  }
  ProfileFolding folding;
  if (request.compact) folding.begin(name);
  ProgramWatch watch(program, variable);
  wait_for(program, signals, watch, {program, request}, {request, name}, recording);
  ends.stop();
  if (request.compact) {
    folding.end();
    recording.compact_error = folding.error();
  }
  const std::vector<fs::path> unwritten = unwritten_since(before, name);
  if (recording.error.empty())
    recording.error = lost_recording(name, taken, ends.removed(), unwritten, errors);
  for (const fs::path& file : unwritten) fs::remove(file);
  name_profiles(name, program, recording);
  if (recording.error.empty() && !recording.profile) {
    recording.error = errors.first_line();
    const auto file = find_program(environment, request.command[0]);
    if (recording.error.empty())
      recording.error = why_no_recorder({libraries, file && is_static_program(*file) ? file : std::nullopt,
                                         watch.seen(), processes_with(variable), recording.program_code,
                                         script_that_imports_peakmark(request.command)});
  }
  if (recording.error.empty()) recording.error = incomplete_recording(name);
  if (recording.error.empty()) recording.error = errors.first_line();
  recording.interrupted = signals.forget() || recording.interrupted;
  return recording;
}

}  // namespace peakmark
