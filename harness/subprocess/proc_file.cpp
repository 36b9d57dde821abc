#include "subprocess/proc_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

namespace peakmark {

std::optional<std::string> read_proc_file(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  ssize_t got = 0;
  do {
    char piece[16384];
    got = read(descriptor, piece, sizeof(piece));
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  } while (got > 0 || (got < 0 && errno == EINTR));
  close(descriptor);
  if (got < 0) return std::nullopt;
  return text;
}

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code error;
  // Going on fails too, once the process has ended.
  for (std::filesystem::directory_iterator thread("/proc/" + std::to_string(process) + "/task", error), end;
       !error && thread != end; thread.increment(error)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) children.push_back(child);
  }
  return children;
}

void for_each_environment(const std::function<void(pid_t process, const std::string& environment)>& use) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), last; !error && entry != last;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t process = 0;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), process);
    if (problem != std::errc() || end != name.data() + name.size() || process == getpid()) continue;
    if (const auto environment = read_proc_file(entry->path() / "environ")) use(process, *environment);
  }
}

}  // namespace peakmark
