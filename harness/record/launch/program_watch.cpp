#include "record/launch/program_watch.hpp"

#include <elf.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "record/recorders/elf_file.hpp"
#include "record/recorders/recorder_libraries.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

/// `Header` and `Segment`: those of 32 or of 64 bits.
template <typename Header, typename Segment>
bool has_interpreter(std::ifstream& file) {
  Header header{};
  file.seekg(0);
  if (!file.read(reinterpret_cast<char*>(&header), sizeof(header))) return true;
  if (header.e_phentsize != sizeof(Segment)) return true;
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (int i = 0; i < header.e_phnum; ++i) {
    Segment segment{};
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof(segment))) return true;
    if (segment.p_type == PT_INTERP) return true;
  }
  return false;
}

}  // namespace

bool is_static_program(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  unsigned char start[EI_NIDENT] = {};
  if (!file.read(reinterpret_cast<char*>(start), sizeof(start)) || std::memcmp(start, ELFMAG, SELFMAG) != 0) {
    return false;
  }
  // The dynamic loader has no PT_INTERP either, and may itself be the program: ld.so PROGRAM.
  if (path.filename().string().find(".so") != std::string::npos) return false;
  return start[EI_CLASS] == ELFCLASS64 ? !has_interpreter<Elf64_Ehdr, Elf64_Phdr>(file)
                                       : !has_interpreter<Elf32_Ehdr, Elf32_Phdr>(file);
}

namespace {

namespace fs = std::filesystem;

fs::path proc_folder(pid_t process) {
  return fs::path("/proc") / std::to_string(process);
}

/// Returns true if `variable` is one of the NUL-terminated strings of /proc/PID/environ.
bool has_variable(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry == variable) return true;
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return false;
}

/// Returns the value of PEAKMARK_PROFILE; empty if it is not set.
std::string profile_in(std::string_view environment) {
  constexpr std::string_view kName = "PEAKMARK_PROFILE=";
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(kName)) return std::string(entry.substr(kName.size()));
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return "";
}

/// Returns null if the environment is unknown: a process that is ending or in exec has an empty environment.
/// Its arguments are then empty, too, which those of a running program never are.
std::optional<std::string> environment_of(const fs::path& folder) {
  const auto has_arguments = [&] { return !read_proc_file(folder / "cmdline").value_or("").empty(); };
  const bool before = has_arguments();
  std::optional<std::string> environment = read_proc_file(folder / "environ");
  if (environment && environment->empty() && !(before && has_arguments())) return std::nullopt;
  return environment;
}

}  // namespace

ProgramWatch::ProgramWatch(pid_t program, std::string variable)
    : program_(program), variable_(std::move(variable)) {}

ProgramWatch::Role ProgramWatch::role(const std::string& path) {
  if (const auto known = roles_.find(path); known != roles_.end()) return known->second;
  const std::string name = path.substr(path.rfind('/') + 1);
  const ElfFile file(path.c_str());
  Role role = Role::other;
  if (name.starts_with("libOpenCL") || name.starts_with("libcuda.so") || has_opencl_loader(file)) {
    role = Role::loader;
  } else if (is_opencl_driver(file)) {
    role = Role::driver;
  }
  return roles_.emplace(path, role).first->second;
}

/// Collects the paths of mapped files.
void ProgramWatch::note_libraries(const std::string& maps, SeenProcess& seen) {
  for (std::size_t at = 0; (at = maps.find('/', at)) != std::string::npos;) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string path = maps.substr(at, end - at);
    at = end;
    if (!seen.files.insert(path).second) continue;
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.starts_with(kOpenclRecorder) || name.starts_with(kCudaRecorder)) {
      seen.has_recorder = true;
      continue;
    }
    const Role found = role(path);
    if (found == Role::loader) seen.loaders.insert(path);
    if (found == Role::driver) seen.drivers.insert(path);
  }
}

bool ProgramWatch::scan() {
  std::vector<pid_t> left{program_};
  while (!left.empty()) {
    const pid_t process = left.back();
    left.pop_back();
    scan_process(process);
    for (const pid_t child : children_of(process)) left.push_back(child);
  }
  // A recorder without a loader proves nothing, because a mark also loads the recorder.
  return std::ranges::any_of(
      seen_, [](const auto& one) { return one.second.has_recorder && !one.second.loaders.empty(); });
}

void ProgramWatch::scan_process(pid_t process) {
  const fs::path folder = proc_folder(process);
  std::error_code error;
  const fs::path program = fs::read_symlink(folder / "exe", error);
  const std::optional<std::string> environment = environment_of(folder);
  const std::optional<std::string> maps = read_proc_file(folder / "maps");
  // A process that has ended has no maps; earlier observations stay.
  if (error || !maps || maps->empty()) return;
  SeenProcess& seen = seen_[process];
  if (seen.program != program) {
    seen.program = program;
    seen.is_static = is_static_program(folder / "exe");
  }
  if (environment) {
    seen.has_variables = has_variable(*environment, variable_);
    seen.other_profile = seen.has_variables ? "" : profile_in(*environment);
  }
  note_libraries(*maps, seen);
}

std::set<pid_t> processes_with(const std::string& variable) {
  std::set<pid_t> running;
  for_each_environment([&](pid_t process, const std::string& environment) {
    if (has_variable(environment, variable)) running.insert(process);
  });
  return running;
}

namespace {

namespace fs = std::filesystem;

/// Returns the state letter of a process or thread; 0 if it no longer exists.
char state_in(const fs::path& folder) {
  const std::string stat = read_proc_file(folder / "stat").value_or("");
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
}

/// Returns a hexadecimal mask in /proc/PID/status.
std::uint64_t mask_in(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  return std::strtoull(std::string(status.substr(at + name.size(), 32)).c_str(), nullptr, 16);
}

/// Returns true if the predicate is true for any thread of the process.
template <typename Predicate>
bool any_thread(pid_t process, Predicate is_so) {
  std::error_code error;
  for (fs::directory_iterator thread(proc_folder(process) / "task", error), end; !error && thread != end;
       thread.increment(error)) {
    if (is_so(thread->path())) return true;
  }
  return false;
}

/// Returns true if the process has ended, but a tracer has not yet waited for it. A main thread that ends
/// before the others (pthread_exit) looks the same, so all threads are checked.
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
