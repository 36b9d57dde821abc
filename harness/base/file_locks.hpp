#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

// Locks on files in file systems that several machines share. If a lock is not visible to the other machines,
// two processes may write at the same time.
namespace peakmark {

/// Returns the name of a file system that machines share, by its number in statfs(2): `nfs`, `smb`, `lustre`,
/// `gpfs`, …; empty for others, and for those in user space, which may or may not be shared.
std::string shared_file_system_name(std::uint64_t magic);

/// Returns the name of the shared file system that contains `path`, or its folder if it does not exist. Empty
/// for a local or unknown one.
std::string shared_file_system(const std::filesystem::path& path);

/// Returns whether locks work in the file system of this folder: while a new file is locked (fcntl, as SQLite
/// does), a second descriptor must not get the lock. Tests only this machine. Returns true if no file can be
/// created there.
bool locks_exclude(const std::filesystem::path& folder);

}  // namespace peakmark
