#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "record/profile/event.hpp"
#include "record/profile/profile.hpp"

namespace peakmark {

/// The folded beginning of a process's profile. A process is identified by its number and its start.
struct FoldedProcess {
  std::int32_t pid = 0;
  std::int64_t start_monotonic_ns = 0;
  std::uint64_t slots = 0;  ///< of the profile, from the first, that `events` replace
  std::vector<Event> events;
};

/// The folded events of all processes of one recording: the file NAME.folded, which exists while `record
/// --compact` runs, or if it was killed.
struct FoldedProfiles {
  std::vector<FoldedProcess> processes;
};

/// Returns the folded events of the profile with this header, or null. Valid as long as `folded`.
const FoldedProcess* find_folded(const FoldedProfiles& folded, const ProfileHeader& header);

/// Reads the file; returns null if it does not exist. Throws UsageError if it is another file, is cut off, or
/// has another version.
std::optional<FoldedProfiles> read_folded(const std::filesystem::path& path);

/// Writes a new file next to `path` and renames it: `path` is complete, or as it was before. Returns the
/// error (errno), or 0. Calls `before_rename` when the new file is written.
int write_folded(const FoldedProfiles& folded, const std::filesystem::path& path,
                 const std::function<void()>& before_rename);

/// Replaces a profile, in the same way, by one with its folded events followed by the later ones. No process
/// may still write to it.
int replace_profile(const std::filesystem::path& path, const FoldedProcess& folded,
                    const std::function<void()>& before_rename);

}  // namespace peakmark
