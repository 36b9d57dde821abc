#include "record/process/child_profiles.hpp"

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "base/error.hpp"
#include "base/text.hpp"
#include "record/profile/profile.hpp"
#include "record/profile/profile_files.hpp"
#include "record/subprocess/processes.hpp"

namespace peakmark {
namespace {

namespace fs = std::filesystem;

std::int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

struct ProcessStatus {
  char state = 0;
  pid_t parent = 0;
};

std::optional<ProcessStatus> status_of(pid_t process) {
  const auto text = read_proc_file(fmt::format("/proc/{}/stat", process));
  if (!text) return std::nullopt;
  // The name is in parentheses and may contain any characters.
  const std::size_t end_of_name = text->rfind(") ");
  if (end_of_name == std::string::npos) return std::nullopt;
  ProcessStatus status;
  std::istringstream fields(text->substr(end_of_name + 2));
  if (!(fields >> status.state >> status.parent)) return std::nullopt;
  return status;
}

/// A zombie has ended, and holds no memory.
bool is_running(pid_t process) {
  const auto status = status_of(process);
  return status && status->state != 'Z' && status->state != 'X';
}

/// Returns true if the process, or one of its running ancestors, is in the family: a shell in between has no
/// profile.
bool descends_from(pid_t process, const std::set<pid_t>& family) {
  for (int depth = 0; process > 1 && depth < 1000; ++depth) {
    if (family.contains(process)) return true;
    const auto status = status_of(process);
    if (!status) return false;
    process = status->parent;
  }
  return false;
}

}  // namespace

std::vector<Event> ChildProfile::read(std::optional<std::int64_t> replaced_ns) {
  // Checks first whether the process has ended, so that everything it wrote before its end is read below.
  const ProfileHeader& header = reader.read_header();
  end_ns = replaced_ns;
  if (!end_ns && header.end_monotonic_ns != 0) end_ns = header.end_monotonic_ns;
  if (!end_ns && !is_running(header.pid)) {
    end_ns = monotonic_ns();
    ended_unseen = true;
  }
  std::vector<Event> events = reader.events(next);
  if (!end_ns) {
    const auto hole = std::ranges::find_if(
        events, [&, slot = next](const Event& event) mutable { return event.commit != ++slot; });
    events.erase(hole, events.end());
    events.resize(count_whole(events));
    next += events.size();
  } else if (!events.empty()) {
    // Slots after the last event were allocated, but never used.
    holes += events.back().commit - next - events.size();
    next = events.back().commit;
  }
  if (const std::uint64_t lost = reader.header().lost + holes; lost > 0) {
    throw RecorderError(
        fmt::format("{}: {} lost: {}; if the disk is full, free some space or set TMPDIR to another folder",
                    path.string(), quantity(lost, "event is", "events are"),
                    reader.header().stop_error != 0 ? stop_reason(reader.header().stop_error)
                                                    : "a thread or process stopped while it wrote them"));
  }
  return events;
}

std::optional<std::int64_t> ChildProfiles::replaced_ns(const ChildProfile& child) const {
  std::optional<std::int64_t> first;
  const ProfileHeader& own = child.reader.header();
  for (const auto& other : children_) {
    const ProfileHeader& header = other->reader.header();
    if (header.pid != own.pid || std::strcmp(header.recorder, own.recorder) != 0) continue;
    if (header.start_monotonic_ns > own.start_monotonic_ns)
      first = std::min(first.value_or(INT64_MAX), header.start_monotonic_ns);
  }
  return first;
}

std::vector<ChildProfiles::Candidate> ChildProfiles::new_descendants(bool is_own_folder) {
  // Children that were begun before the program cleared its environment are also found.
  if (const char* const name = std::getenv("PEAKMARK_PROFILE"); name != nullptr && *name != '\0')
    name_ = name;
  if (name_.empty()) return {};
  family_.insert(getpid());
  std::vector<Candidate> candidates;
  for (const fs::path& path : profiles_beside(name_)) {
    if (known_.contains(path)) continue;
    try {
      const ProfileHeader header = ProfileReader(path).header();
      if (header.pid != getpid() && header.start_monotonic_ns != 0)
        candidates.push_back({path, header.pid, header.parent_pid});
    } catch (const Error&) {
      continue;  // removed meanwhile
    }
  }
  std::vector<Candidate> found;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (Candidate& one : candidates) {
      if (known_.contains(one.path)) continue;
      if (!is_own_folder && !family_.contains(one.parent) && !descends_from(one.pid, family_)) continue;
      family_.insert(one.pid);
      known_.insert(one.path);
      found.push_back(one);
      has_grown = true;
    }
  }
  return found;
}

}  // namespace peakmark
