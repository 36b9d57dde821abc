#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "profile/event.hpp"
#include "profile/profile.hpp"

namespace peakmark {

/// The folded beginning of a process's profile. The process is known by its number and its start.
struct FoldedProcess {
  std::int32_t pid = 0;
  std::int64_t start_monotonic_ns = 0;
  std::uint64_t slots = 0;          ///< of the profile, from its first: `events` have them
  bool end_is_in_together = false;  ///< what the process held at its end is released in `together`
  std::vector<Event> events;
};

/// What `record --compact` has folded of all processes of one recording: the file NAME.folded.
struct FoldedProfiles {
  std::vector<FoldedProcess> processes;
  /// Of all processes merged by time (merge_by_time; the upper 16 bits of addresses are places in
  /// `processes`). Empty while there is one process.
  std::vector<Event> together;
};

/// What was folded of the profile with this header; null where nothing was. Valid as long as `folded`.
const FoldedProcess* find_folded(const FoldedProfiles& folded, const ProfileHeader& header);

/// Reads the file; nothing where it is not there. Throws UsageError where it is no such file, is cut short,
/// or has another version.
std::optional<FoldedProfiles> read_folded(const std::filesystem::path& path);

/// Writes a file beside and renames it: `path` is there whole, or as it was before. Returns the error
/// (errno), or 0. Calls `before_rename` when the new file is written.
int write_folded(const FoldedProfiles& folded, const std::filesystem::path& path,
                 const std::function<void()>& before_rename);

}  // namespace peakmark
