#include "run/orphans.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> children_but(pid_t but) {
  std::vector<pid_t> found;
  std::error_code error;
  // An orphan may become the child of any thread.
  for (fs::directory_iterator thread("/proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream file(thread->path() / "children");
    for (pid_t child = 0; file >> child;) {
      if (child != but) found.push_back(child);
    }
  }
  return found;
}

/// `entry` as one of the strings, each ended by NUL, or the beginning of one.
bool begins_one_of(const std::string& strings, const std::string& entry) {
  return strings.starts_with(entry) || strings.find(std::string(1, '\0') + entry) != std::string::npos;
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void end_orphans(pid_t but) {
  // Killing one hands us its children.
  for (std::vector<pid_t> left = children_but(but); !left.empty(); left = children_but(but)) {
    for (const pid_t child : left) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
  }
}

void end_processes_with(const std::string& name, const std::string& value) {
  const std::string variable = name + "=" + value;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string number = entry->path().filename().string();
    pid_t process = 0;
    const auto [rest, problem] = std::from_chars(number.data(), number.data() + number.size(), process);
    if (problem != std::errc() || rest != number.data() + number.size() || process == ::getpid()) continue;
    std::ifstream file(entry->path() / "environ", std::ios::binary);
    const std::string environment{std::istreambuf_iterator<char>(file), {}};
    if (begins_one_of(environment, variable)) ::kill(process, SIGKILL);
  }
}

}  // namespace peakmark
