#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace peakmark {

/// The process of the file name NAME.<pid> or NAME.<pid>.2; nothing for any other.
std::optional<std::int64_t> process_in_name(std::string_view file, std::string_view name);

/// The profiles of further processes that stand beside the profile `name`: NAME.<pid>, and NAME.<pid>.2 where
/// one process wrote several (it executed another program in its place, or has both recorders). Sorted.
/// Files of such a name that are no profile are left out, and profiles of another process than the name says:
/// those are recordings of their own.
std::vector<std::filesystem::path> profiles_beside(const std::filesystem::path& name);

/// The bytes that files of such a name take on the disk.
std::uint64_t disk_bytes_beside(const std::filesystem::path& name);

/// Files of such a name in which nothing stands (they are empty, or zeros as far as a profile's first sign
/// goes): what a recorder leaves that found no room for its header. Sorted.
std::vector<std::filesystem::path> unwritten_beside(const std::filesystem::path& name);

/// The file beside the profile `name` that has the folded events of all its processes (`record --compact`).
std::filesystem::path folded_beside(const std::filesystem::path& name);

/// How a file of folded events begins.
inline constexpr std::string_view kFoldedMagic = "PEAKFOLD";

/// True while a process writes into the profile, or may: its recorder holds a lock on it (flock). False too
/// where the file system has no locks.
bool is_being_written(const std::filesystem::path& profile);

}  // namespace peakmark
