#include "subprocess/orphans.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>

#include "subprocess/proc_file.hpp"

namespace peakmark {
namespace {

std::vector<pid_t> children_but(pid_t but) {
  std::vector<pid_t> children = children_of(::getpid());
  std::erase(children, but);
  for (const pid_t hangs : given_up_children()) std::erase(children, hangs);
  return children;
}

/// `entry` as one of the strings, each ended by NUL, or the beginning of one.
bool begins_one_of(const std::string& strings, const std::string& entry) {
  return strings.starts_with(entry) || strings.find(std::string(1, '\0') + entry) != std::string::npos;
}

}  // namespace

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

std::vector<pid_t> end_orphans(pid_t but, std::chrono::milliseconds limit) {
  const auto until = ChildWatch::Clock::now() + limit;
  std::vector<pid_t> hanging;
  // Killing one hands us its children.
  for (std::vector<pid_t> left = children_but(but); !left.empty(); left = children_but(but)) {
    for (const pid_t child : left) ::kill(child, SIGKILL);
    for (const pid_t child : left) {
      ChildWatch watch(child);
      if (watch.wait_until(until)) {
        watch.reap();
      } else {
        give_up_child(child);
        hanging.push_back(child);
      }
    }
  }
  return hanging;
}

void end_processes_with(const std::string& name, const std::string& value) {
  const std::string variable = name + "=" + value;
  for_each_environment([&](pid_t process, const std::string& environment) {
    if (begins_one_of(environment, variable)) ::kill(process, SIGKILL);
  });
}

}  // namespace peakmark
