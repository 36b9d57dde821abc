#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/profile/profile.hpp"

namespace peakmark {

/// The profile of a process that this process started, directly or not. It is read until the process has
/// ended.
struct ChildProfile {
  ChildProfile(const std::filesystem::path& file, std::size_t ledger_source)
      : path(file), reader(file), source(ledger_source) {}

  /// Reads the events that were written since the last call, and sets `end_ns` once the process has ended.
  /// `replaced_ns`: the time at which the process executed another program. Throws RecorderError if events
  /// are lost.
  std::vector<Event> read(std::optional<std::int64_t> replaced_ns);

  std::filesystem::path path;
  ProfileReader reader;
  std::size_t source;
  std::uint64_t next = 0;              ///< slot to read next
  std::uint64_t holes = 0;             ///< slots before `next` that were reserved and never written
  std::optional<std::int64_t> end_ns;  ///< time at which the process ended
  /// Nobody recorded the end; `end_ns` is the time at which this process noticed it.
  bool ended_unseen = false;
};

/// The profiles of processes that this process started. They are next to its own profile.
class ChildProfiles {
 public:
  /// Finds and returns the profiles that were begun since the last call. `add_source` returns the number of a
  /// process in the ledger. `is_own_folder`: no other program writes profiles of this name.
  template <typename AddSource>
  void find(bool is_own_folder, AddSource add_source) {
    for (const Candidate& one : new_descendants(is_own_folder))
      children_.push_back(std::make_unique<ChildProfile>(one.path, add_source(one.pid)));
  }

  [[nodiscard]] const std::vector<std::unique_ptr<ChildProfile>>& all() const { return children_; }

  /// Returns the latest time at which the process of this profile can have executed another program: the
  /// start of that program's recorder.
  [[nodiscard]] std::optional<std::int64_t> replaced_ns(const ChildProfile& child) const;

 private:
  struct Candidate {
    std::filesystem::path path;
    pid_t pid = 0;
    pid_t parent = 0;
  };
  std::vector<Candidate> new_descendants(bool is_own_folder);

  std::vector<std::unique_ptr<ChildProfile>> children_;
  std::set<std::filesystem::path> known_;
  std::set<pid_t> family_;
  std::string name_;  ///< name of the recording: the path of each profile without its process id
};

}  // namespace peakmark
