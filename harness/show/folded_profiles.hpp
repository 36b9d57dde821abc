#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "profile/event.hpp"
#include "profile/profile.hpp"

namespace peakmark {

/// The folded beginning of a process's profile. A process is identified by its number and its start.
struct FoldedProcess {
  std::int32_t pid = 0;
  std::int64_t start_monotonic_ns = 0;
  std::uint64_t slots = 0;          ///< of the profile, from the first, that `events` stand for
  bool end_is_in_together = false;  ///< what the process held at its end is released in `together`
  std::vector<Event> events;
};

/// The folded events of all processes of one recording (`record --compact`): the file NAME.folded.
struct FoldedProfiles {
  std::vector<FoldedProcess> processes;
  /// Of all processes merged by time (merge_by_time; the upper 16 bits of addresses are places in
  /// `processes`). Empty while there is one process.
  std::vector<Event> together;
};

/// Returns what was folded of the profile with this header, or null. Valid as long as `folded`.
const FoldedProcess* find_folded(const FoldedProfiles& folded, const ProfileHeader& header);

/// Reads the file; returns nothing if it does not exist. Throws UsageError if it is another file, is cut off,
/// or has another version.
std::optional<FoldedProfiles> read_folded(const std::filesystem::path& path);

/// Writes a new file next to `path` and renames it: `path` is complete, or as it was before. Returns the
/// error (errno), or 0. Calls `before_rename` when the new file is written.
int write_folded(const FoldedProfiles& folded, const std::filesystem::path& path,
                 const std::function<void()>& before_rename);

}  // namespace peakmark
