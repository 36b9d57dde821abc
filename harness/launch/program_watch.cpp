#include "launch/program_watch.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/program_file.hpp"
#include "recorders/recorder_libraries.hpp"
#include "subprocess/processes.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(pid_t process) {
  return fs::path("/proc") / std::to_string(process);
}

/// `variable` as one of the strings, each ended by NUL, of /proc/PID/environ.
bool has_variable(std::string_view environment, std::string_view variable) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry == variable) return true;
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return false;
}

/// The value of PEAKMARK_PROFILE; empty where it has none.
std::string profile_in(std::string_view environment) {
  constexpr std::string_view kName = "PEAKMARK_PROFILE=";
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(kName)) return std::string(entry.substr(kName.size()));
    environment.remove_prefix(std::min(environment.size(), entry.size() + 1));
  }
  return "";
}

/// Nothing where it is not known: a process that is ending, or that is about to become another program
/// (exec), shows an empty environment. It shows no arguments either, which every program has.
std::optional<std::string> environment_of(const fs::path& folder) {
  const auto has_arguments = [&] { return !read_proc_file(folder / "cmdline").value_or("").empty(); };
  const bool before = has_arguments();
  std::optional<std::string> environment = read_proc_file(folder / "environ");
  if (environment && environment->empty() && !(before && has_arguments())) return std::nullopt;
  return environment;
}

/// The paths of the libraries that are mapped.
void note_libraries(const std::string& maps, SeenProcess& seen) {
  for (std::size_t at = 0; (at = maps.find('/', at)) != std::string::npos;) {
    const std::size_t end = std::min(maps.find('\n', at), maps.size());
    const std::string path = maps.substr(at, end - at);
    at = end;
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.starts_with("libOpenCL") || name.starts_with("libcuda.so")) seen.loaders.insert(path);
    if (name.starts_with(kOpenclRecorder) || name.starts_with(kCudaRecorder)) seen.has_recorder = true;
  }
}

}  // namespace

ProgramWatch::ProgramWatch(pid_t program, std::string variable)
    : program_(program), variable_(std::move(variable)) {}

bool ProgramWatch::look() {
  std::vector<pid_t> left{program_};
  while (!left.empty()) {
    const pid_t process = left.back();
    left.pop_back();
    look_at(process);
    for (const pid_t child : children_of(process)) left.push_back(child);
  }
  // A recorder without a loader proves nothing: marks load it too.
  return std::ranges::any_of(
      seen_, [](const auto& one) { return one.second.has_recorder && !one.second.loaders.empty(); });
}

void ProgramWatch::look_at(pid_t process) {
  const fs::path folder = folder_of(process);
  std::error_code error;
  const fs::path program = fs::read_symlink(folder / "exe", error);
  const std::optional<std::string> environment = environment_of(folder);
  const std::optional<std::string> maps = read_proc_file(folder / "maps");
  // One that has ended shows nothing; what was seen of it before stays.
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

std::set<pid_t> running_with(const std::string& variable) {
  std::set<pid_t> running;
  for_each_environment([&](pid_t process, const std::string& environment) {
    if (has_variable(environment, variable)) running.insert(process);
  });
  return running;
}

}  // namespace peakmark
