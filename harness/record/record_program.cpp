#include "record/record_program.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "record/profile.hpp"
#include "record/profile_files.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// Clears the way for a new recording.
void remove_earlier(const fs::path& name) {
  const fs::path folder = name.parent_path();
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw UsageError(
        fmt::format("{}: cannot be written: {}: {}", name.string(), folder.string(), std::strerror(errno)));
  }
  if (fs::exists(name)) {
    const ProfileReader only_a_profile_is_overwritten(name);
    fs::remove(name);
  }
  for (const fs::path& file : profiles_beside(name)) fs::remove(file);
}

/// Blocks the signals that it then waits for, and puts the mask back.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
      sigaddset(&set_, signal);
    }
    std::signal(SIGCHLD,
                SIG_DFL);  // whoever started us may have it ignored, and then no child can be waited for
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  [[nodiscard]] const sigset_t& before() const { return before_; }

  [[nodiscard]] siginfo_t wait() const {
    siginfo_t info{};
    while (sigwaitinfo(&set_, &info) < 0) {
    }
    return info;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The exit code, as a shell gives it.
int wait_for(pid_t program, const Signals& signals) {
  while (true) {
    const siginfo_t info = signals.wait();
    if (info.si_signo == SIGCHLD) {
      int status = 0;
      if (waitpid(program, &status, WNOHANG) != program) continue;
      if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
      if (WIFEXITED(status)) return WEXITSTATUS(status);
    } else if (info.si_code != SI_KERNEL) {
      // What the terminal sends (Ctrl-C) reaches the whole group, the program too.
      kill(program, info.si_signo);
    }
  }
}

bool is_loadable(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) dlclose(handle);
  return handle != nullptr;
}

/// A recorder that was to come up: what the loader says against it; empty where it can be loaded.
std::string refusal_of(const fs::path& recorder) {
  if (is_loadable(recorder.c_str())) return "";
  const char* const why = dlerror();
  return fmt::format("the recorder {} cannot be loaded ({})", recorder.string(),
                     why == nullptr ? "the loader does not say why" : why);
}

std::string why_nothing(const RecorderLibraries& libraries) {
  if (!libraries.opencl && !libraries.cuda) {
    std::string folders;
    for (const fs::path& folder : libraries.folders)
      folders += (folders.empty() ? "" : ", ") + folder.string();
    return fmt::format(
        "the recorders libpeakmark-opencl.so and libpeakmark-cupti.so are missing from {}: install peakmark "
        "whole, or set PEAKMARK_LIBRARY_DIR to their folder",
        folders);
  }
  const bool opencl = libraries.opencl && is_loadable("libOpenCL.so.1");
  const bool cuda = libraries.cuda && is_loadable("libcuda.so.1");
  if (!opencl && !cuda) {
    return "no recorder came up: the program loaded no loader of OpenCL or CUDA, and there is none on this "
           "system for which a recorder was built (libOpenCL.so.1, libcuda.so.1)";
  }
  std::string text = "no recorder came up: ";
  const std::string against_opencl = opencl ? refusal_of(*libraries.opencl) : "";
  const std::string against_cuda = cuda ? refusal_of(*libraries.cuda) : "";
  for (const std::string& refusal : {against_opencl, against_cuda}) {
    if (!refusal.empty()) text += refusal + "; ";
  }
  const bool one_loads = (opencl && against_opencl.empty()) || (cuda && against_cuda.empty());
  if (!one_loads) return text + "install peakmark whole";
  return text +
         "the program made no call into OpenCL or CUDA, or found no OpenCL driver (see "
         "`clinfo -l`), or dropped the environment variables that load the recorder";
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

}  // namespace

Recording record_program(const RecordRequest& request, const RecorderLibraries& libraries) {
  if (request.command.empty()) throw UsageError("record: name the program to run, after --");
  const fs::path name = fs::absolute(request.profile);
  remove_earlier(name);
  const std::vector<fs::path> before = unwritten_beside(name);

  std::vector<std::string> environment = current_environment();
  add_recorders(environment, libraries, name, request.sync, request.stacks);
  std::vector<std::string> command = request.command;

  Recording recording;
  const Signals signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &signals.before());
  pid_t program = -1;
  const int error = posix_spawnp(&program, command[0].c_str(), nullptr, &attributes, pointers(command).data(),
                                 pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    recording.program_code = error == ENOENT ? 127 : 126;
    recording.trouble = fmt::format("{}: cannot be started: {}", command[0], std::strerror(error));
    return recording;
  }
  recording.program_code = wait_for(program, signals);
  name_profiles(name, program, recording);
  const std::vector<fs::path> unwritten = unwritten_since(before, name);
  if (!unwritten.empty()) {
    recording.trouble = fmt::format(
        "{}: the recorder came up and could not write its profile, as it says above; make room "
        "there, or name a file elsewhere with -o",
        unwritten.front().string());
    for (const fs::path& file : unwritten) fs::remove(file);
  } else if (!recording.profile) {
    recording.trouble = why_nothing(libraries);
  } else if (const auto lost = ProfileReader(name).header().lost; lost > 0) {
    recording.trouble =
        fmt::format("{}: the recording stopped early, {} events found no room", name.string(), lost);
  }
  return recording;
}

}  // namespace peakmark
